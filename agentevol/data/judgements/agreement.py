"""Agreement of raters on a dimension: differences, equal scores, correlation, Krippendorff's alpha.

A unit is a seat of an item, with the scores of those raters that gave one. A unit with one score counts for
nothing: there is nothing to compare.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import sqrt
from statistics import fmean
from typing import Literal

from agentevol.data.judgements.outcomes import Scores
from agentgym_envs.core import Record

Unit = Mapping[str, float]
"""Scores by rater."""
Rated = Mapping[str, Scores]
"""Scores of an item by rater."""
EQUAL = 1e-9


class Agreement(Record):
    """Agreement on one dimension."""

    dimension: str
    raters: tuple[str, ...]
    between: Literal["judges", "samples"]
    """Whether the raters are judges, or samples of one judge."""
    n: int
    """Units with at least two scores; the figures are None without one."""
    mean_absolute_difference: float | None
    """Mean over all pairs of scores of a unit."""
    exact: float | None
    """Share of the pairs that are equal."""
    correlation: float | None
    """Pearson's, of two raters; None of more, and where one of them always gives the same."""
    alpha: float | None
    """Krippendorff's alpha for intervals: 1 is agreement, 0 that of chance; None if all scores are equal."""


def agreement(
    units: Sequence[Unit], dimension: str, raters: tuple[str, ...], between: Literal["judges", "samples"]
) -> Agreement:
    """Agreement of these raters."""
    chosen = [{rater: unit[rater] for rater in raters if rater in unit} for unit in units]
    shared = [unit for unit in chosen if len(unit) > 1]
    pairs = [pair for unit in shared for pair in combinations(unit.values(), 2)]
    apart = [abs(one - other) for one, other in pairs]
    return Agreement(
        dimension=dimension,
        raters=raters,
        between=between,
        n=len(shared),
        mean_absolute_difference=fmean(apart) if apart else None,
        exact=fmean(one < EQUAL for one in apart) if apart else None,
        correlation=correlation(pairs) if len(raters) == 2 else None,
        alpha=alpha([list(unit.values()) for unit in shared]),
    )


def agreements(
    rated: Sequence[Rated], raters: Sequence[str], between: Literal["judges", "samples"] = "judges"
) -> list[Agreement]:
    """Agreement on every dimension that two of the raters scored: of all raters, and, of more than two
    judges, of each pair.
    """
    groups = [tuple(raters)]
    if between == "judges" and len(raters) > 2:
        groups += combinations(raters, 2)
    found = [
        agreement(units, name, group, between) for name, units in _units(rated).items() for group in groups
    ]
    return [one for one in found if one.n]


def correlation(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Pearson's correlation; None where one side does not vary."""
    if not pairs:
        return None
    first, second = fmean(one for one, _ in pairs), fmean(other for _, other in pairs)
    shared = sum((one - first) * (other - second) for one, other in pairs)
    scale = sqrt(
        sum((one - first) ** 2 for one, _ in pairs) * sum((other - second) ** 2 for _, other in pairs)
    )
    return shared / scale if scale > EQUAL else None


def alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's alpha with the difference of intervals (Krippendorff, Computing Krippendorff's
    Alpha-Reliability, 2011): 1 less the observed disagreement within units by that of all scores.

    `units` have at least two scores each. None where all scores are equal.
    """
    scores = [score for unit in units for score in unit]
    expected = _disagreement(scores) if scores else 0.0
    return 1 - sum(map(_disagreement, units)) / expected if expected > EQUAL else None


def _disagreement(scores: Sequence[float]) -> float:
    """Half the sum of the squared differences of all ordered pairs, divided by the number of others."""
    middle, count = fmean(scores), len(scores)
    return count * sum((score - middle) ** 2 for score in scores) / (count - 1)


def _units(rated: Sequence[Rated]) -> dict[str, list[Unit]]:
    """Units of each dimension."""
    found = dict[str, list[Unit]]()
    for item in rated:
        for seat in range(max((len(scores) for scores in item.values()), default=0)):
            by_rater = {rater: scores[seat] for rater, scores in item.items() if seat < len(scores)}
            for name in dict.fromkeys(name for scores in by_rater.values() for name in scores):
                units = {
                    rater: score
                    for rater, scores in by_rater.items()
                    if (score := scores.get(name)) is not None
                }
                found.setdefault(name, []).append(units)
    return found
