"""Metrics of scores by hand."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentevol.core.errors import ConfigError
from agentevol.data.rewards.metrics import (
    accuracy_by_length,
    auc,
    brier,
    calibration_error,
    correlation,
    pair_accuracy,
    rank_correlation,
)


def of(*values: float) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def test_a_tie_is_half_right():
    assert pair_accuracy(of(1, 0, 2), of(0, 1, 2)) == 0.5
    assert pair_accuracy(of(1, 0, 2.1), of(0, 1, 2)) == pytest.approx(2 / 3)
    assert isnan(pair_accuracy(of(), of()))


def test_a_model_of_length_is_right_where_the_better_side_is_longer():
    # scores are lengths: differences -5, -1, 0, 3, 8 in buckets below 0, 0 to below 5, from 5 on
    gap = of(-5, -1, 0, 3, 8)
    assert accuracy_by_length(gap, np.zeros(5), gap, [0, 5]) == [(2, 0.0), (2, 0.75), (1, 1.0)]
    counts, accuracies = zip(*accuracy_by_length(of(), of(), of(), [0]), strict=True)
    assert counts == (0, 0)
    assert all(isnan(accuracy) for accuracy in accuracies)


def test_the_brier_score_is_the_mean_squared_error():
    assert brier(of(0.8, 0.4), of(1, 0)) == pytest.approx((0.04 + 0.16) / 2)
    assert brier(of(0.8, 0.4), of(0, 1)) == pytest.approx((0.64 + 0.36) / 2)


def test_the_calibration_error_weighs_bins_by_their_counts():
    # bin [0.8, 0.9): probabilities 0.8 and 0.8, labels 1 and 0: |0.5 - 0.8| for 2; bin 1: |1 - 1| for 1;
    # bin [0.1, 0.2): |0 - 0.1| for 1; (2 * 0.3 + 0 + 0.1) / 4
    probability, label = of(0.8, 0.8, 1.0, 0.1), of(1, 0, 1, 0)
    assert calibration_error(probability, label) == pytest.approx(0.175)
    assert calibration_error(probability, of(1, 1, 1, 0)) == pytest.approx((2 * 0.2 + 0.1) / 4)
    # one bin: |2 / 4 - 2.7 / 4|
    assert calibration_error(probability, label, bins=1) == pytest.approx(0.7 / 4)
    with pytest.raises(ConfigError, match="take the sigmoid"):
        calibration_error(of(1.2), of(1))


def test_the_auc_counts_ordered_pairs_and_half_of_the_ties():
    # positives 0.9 and 0.6, negatives 0.6 and 0.1: 1 + 1 + 0.5 + 1 of 4
    assert auc(of(0.9, 0.6, 0.6, 0.1), of(1, 1, 0, 0)) == pytest.approx(3.5 / 4)
    assert auc(of(0.9, 0.6, 0.6, 0.1), of(0, 0, 1, 1)) == pytest.approx(0.5 / 4)
    assert isnan(auc(of(0.1, 0.2), of(1, 1)))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=12))
def test_the_auc_is_the_accuracy_over_all_pairs_of_unlike_labels(rows):
    score, label = of(*[row[0] for row in rows]), of(*[row[1] for row in rows])
    pairs = [(a, b) for a, one in rows for b, other in rows if one and not other]
    expected = pair_accuracy(of(*[a for a, _ in pairs]), of(*[b for _, b in pairs]))
    assert auc(score, label) == pytest.approx(expected, nan_ok=True)


def test_equal_values_share_their_ranks():
    # ranks 3.5, 1, 3.5, 2 and 1, 2, 3, 4: -1 / sqrt(4.5 * 5)
    assert rank_correlation(of(3, 1, 3, 2), of(1, 2, 3, 4)) == pytest.approx(-0.2108185)


def test_correlations_of_scores_with_lengths():
    assert correlation(of(1, 2, 3), of(2, 4, 6)) == pytest.approx(1.0)
    assert correlation(of(1, 2, 3), of(1, 0, 1)) == pytest.approx(0.0)
    assert rank_correlation(of(1, 2, 300), of(1, 8, 9)) == pytest.approx(1.0)
    assert correlation(of(1, 2, 300), of(1, 8, 9)) < 0.7
    for constant in ((of(1, 1), of(1, 2)), (of(1, 2), of(3, 3)), (of(1), of(2))):
        assert isnan(correlation(*constant))
    assert isnan(brier(of(), of()))
    assert isnan(calibration_error(of(), of()))
