"""Quality measures of scores: ranking accuracy, calibration, and correlation with length.

Scores 0.9, 0.6, 0.6, 0.1 of labels 1, 1, 0, 0: AUC is (1 + 1 + 0.5 + 1) / 4, since one pair is tied.

SciPy is imported when ranks are computed: its import takes most of a second.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]


def pair_accuracy(better: Floats, worse: Floats) -> float:
    """Share of pairs whose better side has the higher score; a tie counts half. NaN for no pairs."""
    if len(better) == 0:
        return float("nan")
    return float(((better > worse) + 0.5 * (better == worse)).mean())


def accuracy_by_length(
    better: Floats, worse: Floats, length_gap: Floats, edges: Sequence[float]
) -> list[tuple[int, float]]:
    """Number of pairs and their accuracy in each bucket of `length_gap`, tokens of the better side less the
    worse.

    Buckets lie below the first of the rising `edges`, from each to below the next, and from the last on. A
    model biased towards length is right where the better side is the longer one, and wrong elsewhere.
    """
    bucket = np.searchsorted(np.asarray(edges), length_gap, side="right")
    chosen = [bucket == number for number in range(len(edges) + 1)]
    return [(int(mask.sum()), pair_accuracy(better[mask], worse[mask])) for mask in chosen]


def brier(probability: Floats, label: Floats) -> float:
    """Mean squared distance of probabilities from labels in [0, 1]."""
    return float(((probability - label) ** 2).mean()) if len(label) else float("nan")


def cross_entropy(probability: Floats, label: Floats) -> float:
    """Mean of -(y log p + (1 - y) log(1 - p)), of labels y in [0, 1]; p is clipped to 1e-12 away from 0 and
    1.
    """
    if len(label) == 0:
        return float("nan")
    p = np.clip(probability, 1e-12, 1 - 1e-12)
    return float(-(label * np.log(p) + (1 - label) * np.log(1 - p)).mean())


def calibration_error(probability: Floats, label: Floats, *, bins: int = 10) -> float:
    """Expected calibration error: |mean label - mean probability| in bins of equal width, by their counts.

    Guo et al., 2017 (arXiv:1706.04599), eq. 3. For a model of pairs: probabilities sigmoid(score difference)
    in an order of sides that is independent of the outcome, and labels 1 where the first side is the better
    one.
    """
    if len(label) == 0:
        return float("nan")
    if not ((probability >= 0) & (probability <= 1)).all():
        raise ConfigError("probabilities lie in [0, 1]; take the sigmoid of scores")
    bin_N = np.minimum((probability * bins).astype(np.int64), bins - 1)
    gaps = np.bincount(bin_N, weights=label - probability, minlength=bins)
    return float(np.abs(gaps).sum() / len(label))


def auc(score: Floats, label: Floats) -> float:
    """Probability that a random positive has a higher score than a random negative, ties half.

    Labels are 0 or 1; NaN where one of them does not occur.
    """
    from scipy.stats import rankdata

    positive = label > 0.5
    ones, zeros = int(positive.sum()), int((~positive).sum())
    if ones == 0 or zeros == 0:
        return float("nan")
    return float((rankdata(score)[positive].sum() - ones * (ones + 1) / 2) / (ones * zeros))


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's correlation, for example of scores with token counts; NaN where one side is constant."""
    if len(one) < 2 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return float("nan")
    return float(np.corrcoef(one, other)[0, 1])


def rank_correlation(one: Floats, other: Floats) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks."""
    from scipy.stats import rankdata

    return correlation(rankdata(one), rankdata(other))
