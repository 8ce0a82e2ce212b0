"""Confidence intervals for success rates and means; all at 95 % unless told otherwise.

wilson(81, 263)               -> (0.2553, 0.3662)
newcombe(56, 70, 48, 80)      -> (0.0524, 0.3339)
"""

import math
import random
from collections.abc import Sequence
from statistics import NormalDist, fmean, stdev

Z = 1.96

_T_975 = (
    *(12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281),
    *(2.2010, 2.1788, 2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860),
    *(2.0796, 2.0739, 2.0687, 2.0639, 2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423),
)
"""Quantile 0.975 of Student's t with 1, 2, ..., 30 degrees of freedom."""


def wilson(successes: int, n: int, z: float = Z) -> tuple[float, float]:
    """Score interval of a proportion (Wilson 1927); (0, 1) where `n` is 0. Raises `ValueError` beyond it."""
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} is not a proportion")
    if n == 0:
        return (0.0, 1.0)
    rate, z2 = successes / n, z * z
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = z / (1 + z2 / n) * math.sqrt(rate * (1 - rate) / n + z2 / (4 * n * n))
    low = 0.0 if successes == 0 else centre - half  # exact at the ends, where rounding would leave the range
    high = 1.0 if successes == n else centre + half
    return (low, high)


def newcombe(successes1: int, n1: int, successes2: int, n2: int, z: float = Z) -> tuple[float, float]:
    """Interval of rate 1 minus rate 2 for independent samples (Newcombe 1998, method 10: hybrid score).

    (-1, 1) where one of them is empty.
    """
    low1, high1 = wilson(successes1, n1, z)
    low2, high2 = wilson(successes2, n2, z)
    if n1 == 0 or n2 == 0:
        return (-1.0, 1.0)
    rate1, rate2 = successes1 / n1, successes2 / n2
    down = math.hypot(rate1 - low1, high2 - rate2)
    up = math.hypot(high1 - rate1, rate2 - low2)
    return (rate1 - rate2 - down, rate1 - rate2 + up)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """Student's t-interval at 95 % of a mean over few values, such as seeds; needs at least 2."""
    if len(values) < 2:
        raise ValueError(f"an interval of a mean needs at least 2 values, not {len(values)}")
    half = _t_975(len(values) - 1) * stdev(values) / math.sqrt(len(values))
    mean = fmean(values)
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


def _t_975(freedom: int) -> float:
    """Beyond the table by the expansion of Abramowitz and Stegun, 26.7.5, good to four digits there."""
    if freedom <= len(_T_975):
        return _T_975[freedom - 1]
    z = NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2
