"""Intervals against published numbers."""

import math

import pytest
from scipy.stats import binomtest, ttest_ind_from_stats

from agentevol.loop.report.intervals import bootstrap_mean, mean_interval, newcombe, welch, wilson


# Newcombe 1998, Statistics in Medicine 17:857-872, table I, method 3 (Wilson's score, z = 1.96), four digits.
@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_agrees_with_newcombes_table(successes, n, low, high):
    assert wilson(successes, n) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (0, 200), (3, 7), (81, 263), (1999, 2000)])
def test_wilson_agrees_with_scipy(successes: int, n: int):
    expected = binomtest(successes, n).proportion_ci(method="wilson")
    assert wilson(successes, n) == pytest.approx((expected.low, expected.high), rel=1e-12, abs=1e-15)


def test_wilson_is_not_the_textbook_interval():
    rate = 15 / 148
    half = 1.96 * math.sqrt(rate * (1 - rate) / 148)
    assert wilson(15, 148)[0] != pytest.approx(rate - half, abs=1e-3)


def test_wilson_stays_within_zero_and_one_and_is_symmetric():
    assert wilson(0, 7)[0] == 0.0
    assert wilson(7, 7)[1] == 1.0
    low, high = wilson(3, 10)
    assert wilson(7, 10) == (pytest.approx(1 - high), pytest.approx(1 - low))


def test_without_episodes_anything_is_possible():
    assert wilson(0, 0) == (0.0, 1.0)
    assert newcombe(0, 0, 3, 4) == (-1.0, 1.0)


@pytest.mark.parametrize(("successes", "n"), [(-1, 5), (6, 5), (1, 0)])
def test_more_successes_than_episodes_are_refused(successes, n):
    with pytest.raises(ValueError, match="is not a proportion"):
        wilson(successes, n)


# Newcombe 1998, Statistics in Medicine 17:873-890, table II, method 10 (hybrid score), four digits.
@pytest.mark.parametrize(
    ("first", "second", "low", "high"),
    [
        ((56, 70), (48, 80), 0.0524, 0.3339),
        ((9, 10), (3, 10), 0.1705, 0.8090),
        ((5, 56), (0, 29), -0.0381, 0.1926),
        ((0, 10), (0, 20), -0.1611, 0.2775),
        ((10, 10), (0, 20), 0.6791, 1.0),
    ],
)
def test_newcombe_agrees_with_his_table(first, second, low, high):
    assert newcombe(*first, *second) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))


def test_newcombe_turns_its_sign_with_the_order():
    low, high = newcombe(56, 70, 48, 80)
    assert newcombe(48, 80, 56, 70) == (pytest.approx(-high), pytest.approx(-low))


def test_the_mean_interval_agrees_with_students_sleep_data():
    # Student 1908; R: t.test(extra ~ group, data = sleep, paired = TRUE) gives -2.4598858 -0.7001142
    gains = [1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4]
    assert mean_interval(gains) == (pytest.approx(0.7001142, abs=2e-5), pytest.approx(2.4598858, abs=2e-5))


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (30, 2.0423), (40, 2.0211), (120, 1.9799)]
)
def test_the_width_follows_students_quantiles(freedom, quantile):
    n = freedom + 1
    values = [0.0] * (n - 1) + [1.0]  # standard deviation sqrt(1 / n), so its standard error is 1 / n
    low, high = mean_interval(values)
    assert (high - low) / 2 * n == pytest.approx(quantile, abs=2e-4)


def test_one_seed_has_no_interval():
    with pytest.raises(ValueError, match="at least 2 values, not 1"):
        mean_interval([0.5])


def test_the_bootstrap_agrees_with_the_normal_interval_on_many_values():
    values = [0.0] * 120 + [1.0] * 80  # mean 0.4, standard error sqrt(0.24 / 200) = 0.03464
    low, high = bootstrap_mean(values, seed=1, resamples=2000)
    assert low == pytest.approx(0.4 - 1.96 * 0.03464, abs=0.008)  # 2,000 resamples leave about 0.003
    assert high == pytest.approx(0.4 + 1.96 * 0.03464, abs=0.008)


def test_the_bootstrap_is_a_function_of_its_seed():
    values = [0.1, 0.7, 0.4, 0.9]
    assert bootstrap_mean(values, 3, resamples=200) == bootstrap_mean(values, 3, resamples=200)
    assert bootstrap_mean([0.5], 0, resamples=10) == (0.5, 0.5)
    with pytest.raises(ValueError, match="needs values"):
        bootstrap_mean([], 0)


def test_welchs_interval_adds_the_variances_of_both_means():
    # By hand: 1.959964 * sqrt(0.16 / 200 + 0.09 / 200) = 0.069295.
    low, high = welch((0.6, 0.4, 200), (0.2, 0.3, 200))
    assert (low, high) == (pytest.approx(0.330705, abs=1e-6), pytest.approx(0.469295, abs=1e-6))
    assert welch((0.6, 0.4, 800), (0.2, 0.3, 200)) != (low, high)


def test_welchs_interval_agrees_with_scipys_for_many_values():
    expected = ttest_ind_from_stats(0.6, 0.4, 5000, 0.2, 0.3, 4000, equal_var=False).statistic
    low, high = welch((0.6, 0.4, 5000), (0.2, 0.3, 4000))
    assert (high + low) / (high - low) * 1.959964 == pytest.approx(expected, rel=1e-6)
