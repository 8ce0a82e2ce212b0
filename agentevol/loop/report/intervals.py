"""Confidence intervals at 95 % for success rates and means.

wilson(81, 263)               -> (0.2553, 0.3662)
newcombe(56, 70, 48, 80)      -> (0.0524, 0.3339)
welch((0.6, 0.4, 200), (0.2, 0.3, 200)) -> (0.3307, 0.4693)

SciPy is imported for t quantiles only: its import takes a second, and every run prints Wilson intervals.
"""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean

_Z = NormalDist().inv_cdf(0.975)
"""Standard deviations of a normal distribution at either side of which 2.5 % lie."""


def wilson(successes: int, n: int) -> tuple[float, float]:
    """Score interval of a proportion (Wilson 1927); (0, 1) where `n` is 0. Raises `ValueError` beyond it."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not a proportion")
    if n == 0:
        return (0.0, 1.0)
    rate, spread = successes / n, _Z**2 / n
    center = (rate + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(rate * (1 - rate) / n + spread / (4 * n)) / (1 + spread)
    return (center - half if successes else 0.0, center + half if successes < n else 1.0)  # free of rounding


def newcombe(successes1: int, n1: int, successes2: int, n2: int) -> tuple[float, float]:
    """Interval of rate 1 minus rate 2 for independent samples (Newcombe 1998, method 10: hybrid score).

    (-1, 1) where one of them is empty.
    """
    low1, high1 = wilson(successes1, n1)
    low2, high2 = wilson(successes2, n2)
    if n1 == 0 or n2 == 0:
        return (-1.0, 1.0)
    rate1, rate2 = successes1 / n1, successes2 / n2
    down = math.hypot(rate1 - low1, high2 - rate2)
    up = math.hypot(high1 - rate1, rate2 - low2)
    return (rate1 - rate2 - down, rate1 - rate2 + up)


def welch(first: tuple[float, float, int], second: tuple[float, float, int]) -> tuple[float, float]:
    """Interval of mean 1 minus mean 2 for independent samples of (mean, standard deviation, n) with different
    variances (Welch 1938); for dozens of values or more: it takes the normal quantile for Student's.
    """
    (mean1, deviation1, n1), (mean2, deviation2, n2) = first, second
    half = _Z * math.hypot(deviation1 / math.sqrt(n1), deviation2 / math.sqrt(n2))
    return (mean1 - mean2 - half, mean1 - mean2 + half)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's t-interval of a mean over few values, such as seeds; needs at least 2."""
    from scipy.stats import sem, t

    if len(values) < 2:
        raise ValueError(f"an interval of a mean needs at least 2 values, not {len(values)}")
    mean = fmean(values)
    half = float(t.ppf(0.975, len(values) - 1) * sem(values))
    return (mean - half, mean + half)


def bootstrap_mean(
    values: Sequence[float], seed: int, *, resamples: int = 10_000, confidence: float = 0.95
) -> tuple[float, float]:
    """Percentile bootstrap interval of a mean; for dozens of values or more: on few it is too narrow."""
    if not values:
        raise ValueError("an interval of a mean needs values")
    draw = random.Random(seed)
    means = sorted(fmean(draw.choices(values, k=len(values))) for _ in range(resamples))
    tail = (1 - confidence) / 2
    return (means[int(tail * resamples)], means[min(resamples - 1, int((1 - tail) * resamples))])
