"""Opinions of several sources as one: scores, labels and preferences by the rule of `feedback.aggregate`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import nan
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.aggregation import means
from agentevol.data.feedback.aggregation.crowd_bt import Votes, crowd_bt
from agentevol.data.feedback.aggregation.dawid_skene import dawid_skene
from agentevol.data.feedback.aggregation.ratings import Floats, Ratings, ratings
from agentevol.data.feedback.aggregation.reliability import reliability
from agentevol.data.feedback.aggregation.sources import weight_of
from agentgym_store.feedback.records import Comparison, Feedback

MEAN = FeedbackConfig()
EVEN = 1e-9
"""Distance from one half within which neither episode of a pair is preferred."""
UNDESIRABLE, BETWEEN, DESIRABLE = range(3)
NO_OUTCOMES: Mapping[str, float] = {}


@dataclass(frozen=True)
class Aggregated:
    """One number for each item, and the sources that had no weight in it."""

    values: dict[Any, float]
    """By item, in the order in which they were first rated."""
    below_chance: frozenset[str] = frozenset()


def scores(
    found: Ratings, how: FeedbackConfig = MEAN, outcomes: Mapping[Any, float] = NO_OUTCOMES
) -> Aggregated:
    """Score of each item, in [0, 1], without items that only sources of weight 0 rated.

    `outcomes` are what is known of the items, in [0, 1]: they fix the offset of sources.
    """
    if not len(found.item_N):
        return Aggregated({})
    below_J = np.zeros(len(found.sources), dtype=np.bool_)
    match how.aggregate:
        case "mean":
            value_I = means.mean(found)
        case "weighted":
            value_I = means.weighted(found, _weights(found, how))
        case "pessimistic":
            learnt = reliability(found, known(found, outcomes))
            value_I = means.pessimistic(found, how.kappa, learnt.sigma_J)
        case "reliability":
            learnt = reliability(found, known(found, outcomes))
            value_I, below_J = learnt.score_I, learnt.below_chance_J
    return Aggregated(_named(found, np.clip(value_I, 0.0, 1.0)), _sources(found, below_J))


def labels(
    found: Ratings, how: FeedbackConfig = MEAN, outcomes: Mapping[Any, float] = NO_OUTCOMES
) -> Aggregated:
    """1 for desirable items and 0 for undesirable ones, without those between.

    With `reliability` each source's own label counts (Dawid and Skene), else the score of all.
    """
    if how.aggregate != "reliability" or not len(found.item_N):
        shares = scores(found, how, outcomes)
        return Aggregated(
            {
                name: float(value >= how.high)
                for name, value in shares.values.items()
                if value >= how.high or value <= how.low
            },
            shares.below_chance,
        )
    label_N = np.where(found.value_N >= how.high, DESIRABLE, BETWEEN)
    label_N = np.where(found.value_N <= how.low, UNDESIRABLE, label_N)
    own = Ratings(found.items, found.sources, found.item_N, found.source_N, label_N.astype(np.float64))
    learnt = dawid_skene(own, 3)
    likely_I = learnt.probability_IK.argmax(axis=1)  # NaN, of no weight, is never below another
    known_I = np.isfinite(learnt.probability_IK[:, 0]) & (likely_I != BETWEEN)
    values_I = np.where(known_I, likely_I == DESIRABLE, nan)
    return Aggregated(_named(found, values_I), _sources(found, learnt.below_chance_J))


@dataclass(frozen=True)
class Preferences:
    """Preferred episodes of compared pairs."""

    probability: dict[tuple[str, str], float]
    """(Better, worse) -> probability that it is so, above one half, in the order of ids."""
    undecided: int
    """Pairs without a preference: nothing but ties, or as many votes for either."""
    below_chance: frozenset[str] = frozenset()

    @property
    def soft(self) -> int:
        """Number of preferences that are not certain."""
        return sum(value < 1 for value in self.probability.values())


def preferences(comparisons: Iterable[Feedback], how: FeedbackConfig = MEAN) -> Preferences:
    """Probability that the better episode of each pair is the better one. A tie is no vote.

    `mean` and `weighted` are of what the sources say, `pessimistic` is the mean less `kappa` standard
    deviations, and `reliability` that of the strengths of Crowd-BT.
    """
    records = [one for one in comparisons if isinstance(one.opinion, Comparison)]
    pairs = {_pair(one) for one in records}
    found = _compared(records)
    first_I, below = _first_is_better(found, how)
    probability: dict[tuple[str, str], float] = {}
    for pair, value in sorted(zip(_pairs(found), first_I.tolist(), strict=True)):
        if value > 0.5 + EVEN:
            probability[pair] = value
        elif value < 0.5 - EVEN:
            probability[pair[1], pair[0]] = 1 - value
    return Preferences(probability, len(pairs) - len(probability), below)


def _first_is_better(found: Ratings, how: FeedbackConfig) -> tuple[Floats, frozenset[str]]:
    """(I,) probability that the first episode of each pair is the better one; NaN without a vote."""
    if not len(found.item_N):
        return np.empty(0), frozenset()
    match how.aggregate:
        case "mean":
            return means.mean(found), frozenset()
        case "weighted":
            return means.weighted(found, _weights(found, how)), frozenset()
        case "pessimistic":
            centre_I = means.mean(found) - 0.5
            certain_I = np.zeros(len(found.sources))  # a single vote has no spread
            spread_I = means.mean(found) - means.pessimistic(found, how.kappa, certain_I)
            return 0.5 + np.sign(centre_I) * np.maximum(np.abs(centre_I) - spread_I, 0), frozenset()
        case "reliability":
            return _by_strengths(found)


def _by_strengths(found: Ratings) -> tuple[Floats, frozenset[str]]:
    votes = _votes(found)
    learnt = crowd_bt(votes)
    counted_I = found.without(learnt.below_chance_J).by_item()
    first_I, second_I = (np.zeros(len(found.items), np.int64) for _ in range(2))
    first_I[found.item_N], second_I[found.item_N] = votes.first_N, votes.second_N
    probability_I = np.where(counted_I > 0, learnt.probability(first_I, second_I), nan)
    return probability_I, _sources(found, learnt.below_chance_J)


def votes_of(comparisons: Iterable[Feedback]) -> tuple[tuple[str, ...], Votes]:
    """Sources and votes of all comparisons but ties."""
    found = _compared(comparisons)
    return found.sources, _votes(found)


def _compared(comparisons: Iterable[Feedback]) -> Ratings:
    """Pairs as items, and as ratings the probability that the first episode is the better one."""
    return ratings((_pair(one), one.source, vote) for one in comparisons if (vote := _vote(one)) is not None)


def _votes(found: Ratings) -> Votes:
    numbers: dict[str, int] = {}
    ends = np.array(
        [[numbers.setdefault(name, len(numbers)) for name in pair] for pair in _pairs(found)], dtype=np.int64
    ).reshape(-1, 2)
    first_N, second_N = ends[found.item_N, 0], ends[found.item_N, 1]
    return Votes(len(numbers), len(found.sources), first_N, second_N, found.source_N, found.value_N)


def _pairs(found: Ratings) -> list[tuple[str, str]]:
    return cast("list[tuple[str, str]]", list(found.items))


def known(found: Ratings, outcomes: Mapping[Any, float]) -> Floats:
    """(I,) outcome of each item; NaN where it is not known, or not in [0, 1]."""
    values = (outcomes.get(item, nan) for item in found.items)
    outcome_I = np.fromiter(values, dtype=np.float64, count=len(found.items))
    return np.where((outcome_I >= 0) & (outcome_I <= 1), outcome_I, nan)


def _weights(found: Ratings, how: FeedbackConfig) -> Floats:
    return np.array([weight_of(name, how.weights) for name in found.sources], dtype=np.float64)


def _named(found: Ratings, value_I: Floats) -> dict[Any, float]:
    return {
        name: value
        for name, value in zip(found.items, value_I.tolist(), strict=True)
        if value == value  # not NaN
    }


def _sources(found: Ratings, chosen_J: NDArray[np.bool_]) -> frozenset[str]:
    return frozenset(name for name, one in zip(found.sources, chosen_J.tolist(), strict=True) if one)


def _pair(record: Feedback) -> tuple[str, str]:
    first, second = sorted(record.episodes)
    return first, second


def _vote(record: Feedback) -> float | None:
    """Probability that the first episode of the pair is the better one, as the source tells it; None for a
    tie.
    """
    opinion = record.opinion
    if not isinstance(opinion, Comparison) or opinion.verdict == "tie":
        return None
    here = float(opinion.verdict == "better") if opinion.probability is None else opinion.probability
    return here if record.trajectory_id == _pair(record)[0] else 1 - here
