"""Quality of scores where outcomes are known: AUC with an interval, Brier score, calibration error.

Episodes of a task are alike, so that the interval of the AUC resamples tasks, not episodes.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from agentevol.data.groups import by_task
from agentevol.data.rewards.metrics import auc, brier, calibration_error, correlation
from agentevol.data.selection.filters import sampled_tokens, scored
from agentgym_store.records import Trajectory

FEWEST = 10
"""Minimum number of won episodes, and of lost ones, by which scores are distrusted."""
RESAMPLES = 1000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Quality:
    """Quality of scores; figures that need what is not there are NaN."""

    won: int
    lost: int
    mean: float
    auc: float
    low: float
    high: float
    """Interval of the AUC at 95 %, by bootstrap over tasks."""
    brier: float
    """Mean squared distance of scores from outcomes, 0 or 1."""
    calibration: float
    """Expected calibration error in ten bins."""
    tokens: float
    """Correlation of scores with sampled tokens: judges prefer length."""

    def is_distrusted(self, min_auc: float) -> bool:
        """True where the lower bound of the AUC is not above `min_auc`, with enough of both outcomes."""
        return min(self.won, self.lost) >= FEWEST and not self.low > min_auc

    def figures(self) -> dict[str, float]:
        """Figures by name, without those that are NaN."""
        told = {
            "self_mean": self.mean,
            "self_auc": self.auc,
            "self_auc_low": self.low,
            "self_auc_high": self.high,
            "self_brier": self.brier,
            "self_calibration_error": self.calibration,
            "self_token_correlation": self.tokens,
        }
        return {name: value for name, value in told.items() if math.isfinite(value)}

    def sentence(self) -> str:
        """The figures in one line."""
        counted = f"{self.won} won and {self.lost} lost episodes"
        if math.isnan(self.auc):
            return f"no AUC of {counted}"
        return (
            f"AUC {self.auc:.3f} [{self.low:.3f}, {self.high:.3f}] of {counted}, Brier {self.brier:.3f},"
            f" calibration error {self.calibration:.3f}"
        )


def quality(explored: Iterable[Trajectory], scores: Mapping[str, float], seed: int) -> Quality:
    """Quality of the scores of these episodes against their success."""
    groups = [[t for t in group if t.id in scores] for _, group in sorted(by_task(scored(explored)).items())]
    known = [sorted(group, key=lambda t: t.id) for group in groups if group]
    flat = [t for group in known for t in group]
    score = np.asarray([scores[t.id] for t in flat], np.float64)
    label = np.asarray([t.succeeded() for t in flat], np.float64)
    tokens = np.asarray([sampled_tokens(t) for t in flat], np.float64)
    low, high = auc_interval([len(group) for group in known], score, label, seed)
    won = int(label.sum())
    return Quality(
        won=won,
        lost=len(flat) - won,
        mean=float(score.mean()) if flat else math.nan,
        auc=auc(score, label),
        low=low,
        high=high,
        brier=brier(score, label),
        calibration=calibration_error(score, label),
        tokens=correlation(score, tokens),
    )


def auc_interval(
    sizes: Sequence[int], score: np.ndarray, label: np.ndarray, seed: int, *, resamples: int = RESAMPLES
) -> tuple[float, float]:
    """Percentile bootstrap interval of the AUC over tasks, whose episodes follow one another in groups of
    these sizes. Draws without both outcomes are left out; (NaN, NaN) where all are.
    """
    ends = np.cumsum(sizes)
    members = [np.arange(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    random, found = np.random.default_rng(seed), list[float]()
    for _ in range(resamples if members else 0):
        drawn = np.concatenate([members[one] for one in random.integers(len(members), size=len(members))])
        value = auc(score[drawn], label[drawn])
        if math.isfinite(value):
            found.append(value)
    if not found:
        return math.nan, math.nan
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return float(low), float(high)
