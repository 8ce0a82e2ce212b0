"""Summary of judgements: outcomes, usage, mean scores, and the agreement of judges and samples."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from agentevol.data.judgements.agreement import Agreement, Rated, agreements
from agentevol.data.judgements.outcomes import Failed, Ok, Scored, Scores, Usage, counted
from agentgym_envs.core import Record

RECORDED = "recorded"
"""Rater whose scores an episode was recorded with."""


class MeanScore(Record):
    """Mean score of a dimension."""

    dimension: str
    mean: float
    n: int
    """Seats with a score."""


class Summary(Record):
    """Figures of several judgements."""

    items: int
    outcomes: dict[str, int]
    """Number of items by outcome; they add up to `items`."""
    scores: tuple[MeanScore, ...]
    """Means over the seats of items that are ok."""
    agreement: tuple[Agreement, ...]
    usage: Usage


def summary(judgements: Sequence[Ok | Failed], recorded: Mapping[int, Scores] | None = None) -> Summary:
    """Figures of these judgements; `recorded` has scores from elsewhere by position."""
    return Summary(
        items=len(judgements),
        outcomes=counted(judgements),
        scores=tuple(_means(judgements)),
        agreement=tuple(_agreement(judgements, recorded or {})),
        usage=sum((one.usage for one in judgements), Usage()),
    )


def _means(judgements: Sequence[Ok | Failed]) -> list[MeanScore]:
    found = dict[str, list[float]]()
    for seat in (seat for one in judgements if isinstance(one, Ok) for seat in one.scores):
        for name, score in seat.items():
            if score is not None:
                found.setdefault(name, []).append(score)
    return [MeanScore(dimension=name, mean=fmean(given), n=len(given)) for name, given in found.items()]


def _agreement(judgements: Sequence[Ok | Failed], recorded: Mapping[int, Scores]) -> list[Agreement]:
    """Between judges, and between the samples of each. Opinions on failed items count too."""
    rated: list[Rated] = []
    samples = dict[str, list[Rated]]()
    for position, one in enumerate(judgements):
        scored = [opinion for opinion in one.opinions if isinstance(opinion, Scored)]
        known = {RECORDED: recorded[position]} if position in recorded else {}
        rated.append(known | {opinion.judge: opinion.scores for opinion in scored})
        for opinion in scored:
            numbered = {f"{opinion.judge}#{k}": rating.scores for k, rating in enumerate(opinion.samples, 1)}
            samples.setdefault(opinion.judge, []).append(numbered)
    raters = dict.fromkeys(rater for item in rated for rater in item)
    found = agreements(rated, list(raters)) if len(raters) > 1 else []
    for items in samples.values():
        numbers = dict.fromkeys(rater for item in items for rater in item)
        found += agreements(items, list(numbers), "samples") if len(numbers) > 1 else []
    return found
