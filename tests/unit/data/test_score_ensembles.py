"""One score out of many: hand-derived values and what holds for all of them."""

from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from agentevol.core.errors import ConfigError
from agentevol.learn.rewards.ensemble import (
    Standard,
    combined,
    independent,
    memberwise,
    normalised,
    spread,
)
from agentevol.learn.rewards.labels import by_head, compared
from agentevol.learn.rewards.stopping import overoptimised

COMBINATIONS = ["mean", "min", "lcb", "uwo"]
SCORES = arrays(
    np.float64,
    st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(1, 5)),
    elements=st.floats(-100, 100).map(lambda value: round(value, 3)),
)


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        ("mean", 2.0),
        ("min", 1.0),
        ("lcb", 2 - 1.5 * 1),  # std of 1, 2, 3 with ddof 1 is 1; kappa 1.5
        ("uwo", 2 - 0.3 * 1**2),
    ],
)
def test_three_members_are_combined_by_hand(combination, expected):
    scores = np.array([1.0, 2.0, 3.0])
    assert combined(scores, combination, kappa=1.5, penalty=0.3) == pytest.approx(expected, abs=1e-12)
    assert combined(scores * 1.1, combination, kappa=1.5, penalty=0.3) != pytest.approx(expected, abs=1e-3)


@settings(deadline=None)
@given(SCORES)
def test_caution_never_raises_a_score(scores):
    mean = combined(scores, "mean")
    for combination in ("min", "lcb", "uwo"):
        assert (combined(scores, combination) <= mean + 1e-9).all()


@settings(deadline=None)
@given(SCORES)
def test_members_that_agree_or_a_single_one_or_no_caution_give_the_mean(scores):
    for combination in COMBINATIONS:
        alike = np.repeat(scores[..., :1], 4, axis=-1)
        assert combined(alike, combination) == pytest.approx(scores[..., 0], abs=1e-9)
        assert combined(scores[..., :1], combination) == pytest.approx(scores[..., 0], abs=1e-12)
    assert combined(scores, "lcb", kappa=0.0) == pytest.approx(combined(scores, "mean"), abs=1e-12)


@settings(deadline=None)
@given(SCORES)
def test_the_order_of_the_members_does_not_matter(scores):
    for combination in COMBINATIONS:
        turned = combined(scores[..., ::-1], combination)
        assert turned == pytest.approx(combined(scores, combination), rel=1e-9, abs=1e-9)


@settings(deadline=None)
@given(SCORES)
def test_all_the_weight_on_one_objective_gives_that_objective(scores):
    weights = [0.0] * scores.shape[-2]
    weights[0] = 3.0
    assert memberwise(scores, weights) == pytest.approx(combined(scores[..., 0, :]), abs=1e-9)
    assert independent(scores, weights) == pytest.approx(combined(scores[..., 0, :]), abs=1e-9)


def test_memberwise_caution_sees_errors_that_cancel_and_independent_caution_does_not():
    # members err in opposite ways: 1/2 * (1, -1) + 1/2 * (-1, 1) = (0, 0), of which every member is sure
    scores = np.array([[1.0, -1.0], [-1.0, 1.0]])
    assert memberwise(scores, [1, 1]) == pytest.approx(0.0, abs=1e-12)
    # std of (1, -1) is sqrt(2): 0 - sqrt(1/4 * 2 + 1/4 * 2) = -1
    assert independent(scores, [1, 1]) == pytest.approx(-1.0, abs=1e-12)
    assert independent(scores, [1, 1], kappa=0.0) == pytest.approx(0.0, abs=1e-12)


def test_weights_keep_their_sign_and_sum_to_1_in_absolute_value():
    assert normalised([3, -1]).tolist() == [0.75, -0.25]
    # 0.75 * 2 - 0.25 * 1: a cost of 1 takes off a quarter
    assert memberwise(np.array([[2.0], [1.0]]), [3, -1]) == pytest.approx(1.25)
    for weights in ([0.0, 0.0], [float("nan"), 1.0]):
        with pytest.raises(ConfigError, match="weights of objectives"):
            normalised(weights)


def test_a_reference_set_gets_mean_0_and_deviation_1_by_member():
    reference = np.array([[1.0, 10.0], [3.0, 50.0]])
    standard = Standard.of(reference)
    assert standard.standardised(reference).tolist() == [[-1, -1], [1, 1]]
    assert standard.standardised(np.array([2.0, 70.0])).tolist() == [0.0, 2.0]


def test_offset_and_scale_of_a_member_are_gone_after_standardising():
    random = np.random.default_rng(0)
    reference, samples = random.normal(size=(50, 3)), random.normal(size=(7, 3))
    scale, offset = np.array([1.0, 20.0, 0.01]), np.array([0.0, -300.0, 5.0])
    plain = Standard.of(reference).standardised(samples)
    moved = Standard.of(reference * scale + offset).standardised(samples * scale + offset)
    assert moved == pytest.approx(plain, abs=1e-9)
    assert combined(samples * scale + offset) != pytest.approx(combined(samples), abs=1.0)


@settings(deadline=None)
@given(SCORES, st.integers(1, 4))
def test_a_running_standard_is_that_of_everything_seen(scores, cut):
    whole, parts = Standard.of(scores), Standard.of(scores[:1])
    for start in range(1, len(scores), cut):
        parts = parts.seen(scores[start : start + cut])
    assert parts.count == whole.count
    assert parts.mean == pytest.approx(whole.mean, abs=1e-9)
    assert parts.squares == pytest.approx(whole.squares, rel=1e-9, abs=1e-6)
    assert parts.seen(scores[:0]) is parts


def test_a_constant_member_is_only_centred_and_an_empty_reference_is_an_error():
    assert Standard.of(np.array([0.1, 0.1, 0.1])).standardised(
        np.array([0.1, 0.4])
    ).tolist() == pytest.approx([0.0, 0.3])
    with pytest.raises(ConfigError, match="empty reference set"):
        Standard.of(np.zeros((0, 2)))


def test_the_spread_of_one_member_is_0():
    assert spread(np.array([[5.0], [7.0]])).tolist() == [0.0, 0.0]
    assert spread(np.array([1.0, 2.0])) == pytest.approx(sqrt(0.5))


def test_negative_caution_is_an_error():
    with pytest.raises(ConfigError, match="kappa and penalty are at least 0"):
        combined(np.zeros(2), kappa=-1.0)


def test_ties_and_missing_labels_are_no_labels():
    chosen, rejected = compared(np.array([0.8, 1.0, np.nan, -1.0]), np.array([0.3, 1.0, 0.2, 0.0]))
    assert np.array_equal(chosen, [0.8, np.nan, np.nan, -1.0], equal_nan=True)
    assert np.array_equal(rejected, [0.3, np.nan, np.nan, 0.0], equal_nan=True)
    assert by_head(np.array([[1.0, 2.0]]), 3).tolist() == [[1, 1, 1, 2, 2, 2]]


def test_learning_stops_at_the_second_evaluation_in_which_proxy_and_gold_part():
    proxy, gold = [0.1, 0.4, 0.6, 0.7, 0.8], [0.2, 0.3, 0.4, 0.3, 0.2]
    assert overoptimised(proxy, gold) == 4
    assert overoptimised(proxy, gold, patience=1) == 3
    assert overoptimised(proxy, [0.2, 0.3, 0.4, 0.3, 0.3]) is None
    assert overoptimised([0.1, 0.4, 0.6, 0.5, 0.4], gold) is None  # both fall: nothing is exploited
    assert overoptimised([0, 1, 2, 3, 4], [4, 3, 3, 2, 2]) is None  # never twice in a row
    assert overoptimised([], []) is None
    with pytest.raises(ConfigError, match="1 evaluations of the proxy but 0"):
        overoptimised([1.0], [])
