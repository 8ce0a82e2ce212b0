"""Means and ratios of values in clusters, with cluster-robust intervals.

clustered_mean([1, 3, 5, 7], ["a", "a", "b", "b"])  ->  mean 4, interval (-21.41, 29.41), two clusters
linearised([1, 0], [2, 6])  ->  [0.3125, -0.0625], of mean 1 / 8
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean

from agentevol.core.summaries import MeanScore

CONFIDENCE = 0.95


def clustered_mean(values: Sequence[float], clusters: Sequence[Hashable]) -> MeanScore:
    """Mean of values, of which those in one cluster are not independent, with its 95 % interval.

    With e_g the sum of the residuals of cluster g, of G clusters and N values, the variance of the mean is
    G / (G - 1) * sum_g(e_g^2) / N^2: the sandwich estimator of Liang and Zeger (1986, Biometrika 73:13-22)
    with the correction CR1, for a regression on a constant, and Student's quantiles with G - 1 degrees of
    freedom (Cameron and Miller 2015, Journal of Human Resources 50:317-372). Miller (arXiv:2411.00640)
    recommends it for evaluations of language models. If each value is a cluster, it is Student's interval.
    With few clusters, or clusters of very different sizes, it is somewhat too narrow.

    No interval of fewer than two clusters, no mean of no values.
    """
    if not values:
        return MeanScore()
    mean = fmean(values)
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] += value - mean
    count = len(sums)
    if count < 2:
        return MeanScore(mean=mean, n=len(values), clusters=count)
    variance = count / (count - 1) * math.fsum(total**2 for total in sums.values()) / len(values) ** 2
    half = _quantile(count - 1) * math.sqrt(variance)
    return MeanScore(mean=mean, low=mean - half, high=mean + half, n=len(values), clusters=count)


def linearised(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    """Values whose mean is the ratio r of the sums, and whose deviations are those of the ratio:
    r + (numerator - r * denominator) / mean denominator (linearization, Cochran 1977, section 6.4).

    `clustered_mean` of them gives the ratio with its interval. Raises `ValueError` where the denominators
    sum to 0.
    """
    total = math.fsum(denominators)
    if not total:
        raise ValueError("a ratio needs a denominator above 0")
    ratio, mean = math.fsum(numerators) / total, total / len(denominators)
    return [ratio + (one - ratio * of) / mean for one, of in zip(numerators, denominators, strict=True)]


def _quantile(degrees: int) -> float:
    """Student's quantile of a two-sided interval. SciPy takes a second to import."""
    from scipy.stats import t

    return float(t.ppf((1 + CONFIDENCE) / 2, degrees))
