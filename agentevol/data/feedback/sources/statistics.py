"""Figures of each source of scores: agreement with the others, reliability, and preference for length."""

from collections import Counter
from collections.abc import Mapping, Sequence
from math import isnan

import numpy as np

from agentevol.data.feedback.aggregation.aggregate import known, votes_of
from agentevol.data.feedback.aggregation.crowd_bt import crowd_bt
from agentevol.data.feedback.aggregation.ratings import Floats, Ratings, of_scores
from agentevol.data.feedback.aggregation.reliability import reliability
from agentevol.data.judgements.agreement import alpha
from agentevol.data.rewards.metrics import correlation
from agentgym_envs.core import Record
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Comparison, Feedback
from agentgym_store.store import Store, Where


class SourceFigures(Record):
    """Figures of one source."""

    source: str
    scores: int
    """Scores of whole episodes."""
    offset: float | None = None
    """Of its scores, on a scale from 0 to 1."""
    sigma: float | None = None
    """Noise of its scores."""
    weight: float | None = None
    """Share of its precision 1 / sigma^2 in that of all sources; 0 below chance."""
    tokens: float | None = None
    """Correlation of its scores with sampled tokens; None where one does not vary or is not known."""
    comparisons: int = 0
    accuracy: float | None = None
    """Share of comparisons that are right (Crowd-BT)."""
    below_chance: bool = False


class FeedbackFigures(Record):
    """Figures of all sources."""

    sources: tuple[SourceFigures, ...]
    shared: int
    """Episodes that several sources scored."""
    alpha: float | None
    """Krippendorff's alpha of their scores: 1 is agreement, 0 that of chance."""


class Summary(Record):
    """Counts of records, and figures of their sources."""

    records: int
    opinions: int
    """Records that stand."""
    kind: dict[str, int]
    """Opinions by kind."""
    source: dict[str, int]
    """Opinions by source."""
    reliability: FeedbackFigures


def summary(records: Sequence[Feedback], store: Store) -> Summary:
    """Summary of the records about episodes of `store`."""
    found = standing(records)
    names = sorted({one.trajectory_id for one in found})
    rows = list(store.rows(("id", "total_reward", "sampled_tokens"), Where(ids=names))) if names else []
    outcomes = {name: reward for name, reward, _ in rows if reward is not None}
    told = figures(found, outcomes, {name: tokens or 0 for name, _, tokens in rows})
    return Summary(
        records=len(records),
        opinions=len(found),
        kind=Counter(one.kind for one in found),
        source=Counter(one.source for one in found),
        reliability=told,
    )


def figures(
    opinions: Sequence[Feedback], outcomes: Mapping[str, float], tokens: Mapping[str, int]
) -> FeedbackFigures:
    """Figures of the opinions that stand, by returns and numbers of sampled tokens of their episodes."""
    found = of_scores(one for one in opinions if one.turn is None)
    compared = _accuracies([one for one in opinions if isinstance(one.opinion, Comparison)])
    scored = _of_scores(found, outcomes, tokens)
    names = sorted({*scored, *compared})
    merged = [_figures(name, scored.get(name, {}), compared.get(name, {})) for name in names]
    shared = found.by_item() > 1
    return FeedbackFigures(sources=tuple(merged), shared=int(shared.sum()), alpha=_alpha(found))


def _of_scores(
    found: Ratings, outcomes: Mapping[str, float], tokens: Mapping[str, int]
) -> dict[str, dict[str, object]]:
    if not len(found.item_N):
        return {}
    learnt = reliability(found, known(found, outcomes))
    share_J = learnt.weight / learnt.weight.sum()
    token_I = np.array([tokens.get(str(name), 0) for name in found.items], dtype=np.float64)
    columns = zip(
        found.sources,
        found.by_source().tolist(),
        learnt.offset_J.tolist(),
        learnt.sigma_J.tolist(),
        share_J.tolist(),
        learnt.below_chance_J.tolist(),
        strict=True,
    )
    return {
        name: {
            "scores": int(count),
            "offset": offset,
            "sigma": sigma,
            "weight": weight,
            "tokens": _correlation(found, number, token_I),
            "below_chance": below,
        }
        for number, (name, count, offset, sigma, weight, below) in enumerate(columns)
    }


def _correlation(found: Ratings, source: int, token_I: Floats) -> float | None:
    own = found.source_N == source
    value = correlation(found.value_N[own], token_I[found.item_N[own]])
    return None if isnan(value) else value


def _accuracies(records: Sequence[Feedback]) -> dict[str, dict[str, object]]:
    """Comparisons, accuracy and whether it is below chance, by source."""
    sources, votes = votes_of(records)
    if not len(votes.source_N):
        return {}
    learnt = crowd_bt(votes)
    count_J = np.bincount(votes.source_N, minlength=votes.sources)
    return {
        name: {"comparisons": int(count), "accuracy": accuracy, "below_chance": below}
        for name, count, accuracy, below in zip(
            sources, count_J.tolist(), learnt.accuracy_J.tolist(), learnt.below_chance_J.tolist(), strict=True
        )
    }


def _figures(name: str, scored: Mapping[str, object], compared: Mapping[str, object]) -> SourceFigures:
    """Figures of scores and of comparisons; below chance in either is below chance."""
    below = bool(scored.get("below_chance")) or bool(compared.get("below_chance"))
    return SourceFigures.model_validate(
        {"source": name, "scores": 0, **scored, **compared, "below_chance": below}
    )


def _alpha(found: Ratings) -> float | None:
    """By sums over units, as `agentevol.data.judgements.agreement.alpha` for few."""
    shared = found.shared
    values, items = found.value_N[shared], found.item_N[shared]
    order = np.argsort(items, kind="stable")
    units = np.split(values[order], np.flatnonzero(np.diff(items[order])) + 1)
    return alpha([unit.tolist() for unit in units if len(unit)])
