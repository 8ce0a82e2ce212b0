"""Aggregation of scores: mean or median of samples and judges, spread, overall mean, share of the range.

A dimension that a judge does not define is None: it is left out of means, and is never 0.
"""

from collections.abc import Callable, Sequence
from statistics import fmean, median
from typing import Literal

from agentevol.data.judgements.outcomes import Scores, SeatScores
from agentgym_envs.sotopia.protocol.dimensions import Dimension

Aggregate = Literal["mean", "median"]


def combined(rated: Sequence[Scores], aggregate: Aggregate) -> Scores:
    """Mean or median by seat and dimension over those that have a score."""
    return _each(rated, fmean if aggregate == "mean" else median)


def spread(rated: Sequence[Scores]) -> Scores:
    """The largest minus the smallest score by seat and dimension."""
    return _each(rated, lambda values: max(values) - min(values))


def overall(scores: SeatScores) -> float | None:
    """Plain mean of the raw scores; None unless every dimension has one."""
    found = [score for score in scores.values() if score is not None]
    return fmean(found) if found and len(found) == len(scores) else None


def normalised(scores: SeatScores, dimensions: Sequence[Dimension]) -> SeatScores:
    """Scores as shares of their ranges, 0 to 1."""
    found = {one.name: scores.get(one.name) for one in dimensions}
    return {
        one.name: None if (score := found[one.name]) is None else one.normalised(score) for one in dimensions
    }


def _each(rated: Sequence[Scores], of: Callable[[list[float]], float]) -> Scores:
    """`of` the scores of each seat and dimension. Raises `ValueError` for different numbers of seats."""
    return tuple(_of_seat(seat, of) for seat in zip(*rated, strict=True))


def _of_seat(rated: Sequence[SeatScores], of: Callable[[list[float]], float]) -> SeatScores:
    names = dict.fromkeys(name for one in rated for name in one)
    values = {name: [score for one in rated if (score := one.get(name)) is not None] for name in names}
    return {name: float(of(found)) if found else None for name, found in values.items()}
