"""Tests of paired differences against textbook examples, and SciPy's."""

import math

import numpy as np
import pytest
from scipy.stats import permutation_test

from agentevol.loop.report.hypothesis_tests import DRAWS, EXACT, holm, sign_flip_test, sign_test

MAIZE = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
"""Darwin's maize, cross- minus self-fertilised, in eighths of an inch (Fisher 1935, section 17)."""


def test_the_sign_test_is_binomial() -> None:
    # 2 * (1 + 8) / 2^8
    assert sign_test(7, 1) == sign_test(1, 7) == pytest.approx(18 / 256)
    assert (sign_test(0, 0), sign_test(3, 3)) == (1.0, 1.0)


def test_fishers_example_is_reproduced() -> None:
    # Fisher found 863 of the 2^15 = 32,768 arrangements with a sum of at least 314, and as many at most -314
    assert sum(MAIZE) == 314
    assert sign_flip_test(MAIZE) == 1726 / 32768
    assert sign_flip_test([-one for one in MAIZE]) == 1726 / 32768
    assert sign_flip_test([*MAIZE[:-1], 48]) != 1726 / 32768


def test_five_differences_to_one_side_are_two_of_32_choices() -> None:
    assert sign_flip_test([1, 2, 3, 4, 5]) == 2 / 32
    assert sign_flip_test([1, 2, 3, 4, 5, 0, 0]) == 2 / 32  # a zero has no sign
    assert sign_flip_test([0.0, 0.0]) == sign_flip_test([]) == 1.0


def test_scipy_enumerates_the_same() -> None:
    values = [0.3, -0.1, 0.25, 0.5, -0.2, 0.05, 0.4]
    found = permutation_test((np.array(values),), np.mean, permutation_type="samples", n_resamples=np.inf)
    assert sign_flip_test(values) == pytest.approx(found.pvalue)


def test_differences_of_one_size_are_a_sign_test_of_any_number() -> None:
    values = [0.1] * 40 + [-0.1] * 20
    assert len(values) > EXACT
    assert sign_flip_test(values) == sign_test(40, 20)


def test_many_differences_are_drawn_by_seed() -> None:
    values = [*MAIZE, 3, -5, 11]
    drawn = sign_flip_test(values)
    sums = [0]
    for one in values:
        sums = [total + sign * one for total in sums for sign in (1, -1)]
    exact = sum(abs(total) >= abs(sum(values)) for total in sums) / 2**18
    # five standard deviations of the share of 20,000 draws
    assert abs(drawn - exact) < 5 * math.sqrt(exact * (1 - exact) / DRAWS)
    assert drawn == sign_flip_test(values)
    assert drawn != sign_flip_test(values, seed=1)
    assert sign_flip_test([*range(1, 41)]) == 1 / (DRAWS + 1)  # never 0


def test_holms_correction_of_a_textbook_example() -> None:
    # as R's p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm"): 4 * 0.005, 3 * 0.01, 2 * 0.03, then 0.04 < 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_holms_correction_is_neither_bonferronis_nor_hochbergs() -> None:
    bonferroni, hochberg = [0.04, 0.16, 0.12, 0.02], [0.03, 0.04, 0.04, 0.02]
    assert holm([0.01, 0.04, 0.03, 0.005]) not in (pytest.approx(bonferroni), pytest.approx(hochberg))
