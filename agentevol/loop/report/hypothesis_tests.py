"""Tests of paired differences, and their correction for many comparisons.

sign_test(7, 1)                      -> 0.0703
sign_flip_test([1, 2, 3, 4, 5])      -> 0.0625
holm([0.01, 0.04, 0.03, 0.005])      -> [0.03, 0.06, 0.06, 0.02]
"""

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

EXACT = 16
"""Most differences of which all signs are enumerated."""
DRAWS = 20_000
"""Drawn signs of more differences: the least p-value is 1 / 20,001."""
_CHUNK = 1_000
_NEAR = 1e-9
"""Relative distance within which two sums are equal, but for rounding."""


def sign_test(won: int, lost: int) -> float:
    """Two-sided exact sign test of equal chances, which is McNemar's (1947) in its exact form."""
    changed = won + lost
    tail = sum(math.comb(changed, k) for k in range(min(won, lost) + 1)) / 2**changed
    return min(1.0, 2 * tail)


def sign_flip_test(differences: Sequence[float], seed: int = 0) -> float:
    """Two-sided randomization test of independent differences that are symmetric around 0 (Fisher 1935, The
    Design of Experiments, section 21): the share of all choices of signs whose sum is as far from 0.

    Exact of up to `EXACT` differences that are not 0, and of any number of equal size, where it is the sign
    test; otherwise over `DRAWS` choices drawn by `seed` and the observed one (Phipson and Smyth 2010).
    """
    changed = np.array([one for one in differences if one], dtype=np.float64)
    if not len(changed):
        return 1.0
    sizes = np.abs(changed)
    if np.ptp(sizes) <= _NEAR * sizes.max():
        won = int((changed > 0).sum())
        return sign_test(won, len(changed) - won)
    observed = abs(math.fsum(changed)) - _NEAR * float(sizes.sum())
    if len(changed) <= EXACT:
        return float((np.abs(_all_sums(sizes)) >= observed).mean())
    as_far = sum(int((np.abs(sums) >= observed).sum()) for sums in _drawn_sums(sizes, seed))
    return (as_far + 1) / (DRAWS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values in the given order (Holm 1979, Scandinavian Journal of Statistics 6:65-70): the i-th
    smallest of m is multiplied by m - i + 1, and none is below a smaller one; at most 1.
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(1.0, largest)
    return adjusted


def _all_sums(sizes: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Sums under all 2^N choices of signs."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return sums


def _drawn_sums(sizes: npt.NDArray[np.float64], seed: int) -> list[npt.NDArray[np.float64]]:
    random = np.random.default_rng(seed)
    shape = (_CHUNK, len(sizes))
    return [(2.0 * random.integers(0, 2, shape, np.int8) - 1) @ sizes for _ in range(DRAWS // _CHUNK)]
