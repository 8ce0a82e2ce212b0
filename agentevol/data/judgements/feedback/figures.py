"""Scores of a judge beside lengths and outcomes of the episodes.

A judge that prefers long episodes has a high correlation with tokens (arXiv:2404.13076); one that cannot tell
won from lost episodes has an AUC of one half.
"""

from collections.abc import Sequence

import numpy as np

from agentevol.data.judgements.feedback.records import Origin
from agentevol.data.rewards.metrics import auc, correlation
from agentgym_envs.core import Record
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback, Score
from agentgym_store.store import Store, Where


class Figures(Record):
    """Figures of the scores of whole episodes."""

    n: int
    """Episodes with a score."""
    mean: float | None
    """Mean of the scores as shares of their scales."""
    correlation_with_tokens: float | None
    """Pearson's, of scores and sampled tokens; None where one does not vary or tokens are not recorded."""
    auc: float | None
    """Of scores for success; None unless some episodes are won and some are not."""
    won: int
    """Episodes with a score that are won."""


def figures_of(records: Sequence[Feedback], origin: Origin, store: Store, where: Where) -> Figures:
    """Figures of the scores of this origin that stand, of the chosen episodes."""
    scores = {
        one.trajectory_id: one.opinion.share
        for one in standing(records)
        if isinstance(one.opinion, Score)
        and one.turn is None
        and (one.source, one.rubric_version) == (origin.source, origin.version)
    }
    rows = store.rows(("id", "sampled_tokens", "succeeded"), where)
    found = [(scores[name], tokens, won) for name, tokens, won in rows if name in scores]
    score = np.array([one for one, _, _ in found], dtype=np.float64)
    tokens = np.array([count or 0 for _, count, _ in found], dtype=np.float64)
    won = np.array([bool(one) for _, _, one in found], dtype=np.float64)
    return Figures(
        n=len(found),
        mean=_number(float(score.mean())) if len(found) else None,
        correlation_with_tokens=_number(correlation(score, tokens)),
        auc=_number(auc(score, won)),
        won=int(won.sum()),
    )


def _number(value: float) -> float | None:
    return None if np.isnan(value) else value
