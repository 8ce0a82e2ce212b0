"""Forgetting, and the gate that a checkpoint has to pass."""

from math import isnan, nan, sqrt

import numpy as np
import pytest

from agentevol.core.errors import ConfigError
from agentevol.learn.continual.forgetting_metrics import backward_transfer, falls, forgetting

SUCCESS = np.array([[0.80, 0.10, 0.00], [0.70, 0.60, 0.00], [0.50, 0.65, 0.40]])


def rate(successes: int, episodes: int) -> list[float]:
    return [1.0] * successes + [0.0] * (episodes - successes)


def test_forgetting_is_measured_from_the_best_earlier_stage():
    assert forgetting(SUCCESS).tolist() == pytest.approx([0.30, -0.05, -0.40])
    assert forgetting(SUCCESS[[1, 0, 2]]).tolist() == pytest.approx([0.30, -0.05, -0.40])
    unseen = SUCCESS.copy()
    unseen[:2, 2] = nan
    unseen[0, 1] = nan
    assert forgetting(unseen)[:2].tolist() == pytest.approx([0.30, -0.05])
    assert isnan(forgetting(unseen)[2])
    assert all(isnan(value) for value in forgetting(SUCCESS[:1]))


def test_backward_transfer_is_the_mean_change_since_an_environment_was_learnt():
    # (0.50 - 0.80 + 0.65 - 0.60) / 2; the third was learnt in the last stage
    assert backward_transfer(SUCCESS, [0, 1, 2]) == pytest.approx(-0.125)
    # had the shop been learnt in stage 0: (-0.30 + 0.55) / 2
    assert backward_transfer(SUCCESS, [0, 0, 2]) == pytest.approx(0.125)
    assert isnan(backward_transfer(SUCCESS, [2, 2, 2]))


def test_a_fall_beyond_two_standard_errors_is_named():
    # 80 to 60 of 100: variances 0.16 * 100 / 99 and 0.24 * 100 / 99, each / 100
    allowed = 2 * sqrt((0.16 + 0.24) / 99)
    (fall,) = falls({"maze": rate(80, 100)}, {"maze": rate(60, 100)})
    assert (fall.environment, fall.fall, fall.allowed) == ("maze", pytest.approx(0.2), pytest.approx(allowed))
    assert allowed == pytest.approx(0.127, abs=1e-3)
    assert falls({"maze": rate(80, 100)}, {"maze": rate(68, 100)}) == []


def test_few_episodes_allow_more_and_certain_ones_two_points():
    assert falls({"maze": rate(8, 10)}, {"maze": rate(6, 10)}) == []
    # without any variance: 0.98 to 0.96 is exactly two points, 0.95 is more
    assert falls({"maze": [0.98, 0.98]}, {"maze": [0.96, 0.96]}) == []
    assert falls({"maze": [0.98, 0.98]}, {"maze": [0.95, 0.95]})[0].allowed == 0.02
    assert falls({"maze": [0.98, 0.98]}, {"maze": [0.96, 0.96]}, points=0.01) != []


def test_every_protected_environment_is_looked_at_and_no_other():
    before = {"maze": rate(80, 100), "shop": rate(50, 100)}
    after = {"maze": rate(95, 100), "shop": rate(10, 100), "house": rate(0, 100)}
    assert [fall.environment for fall in falls(before, after)] == ["shop"]


def test_a_protected_environment_that_was_not_evaluated_is_an_error():
    with pytest.raises(ConfigError, match="shop is protected, and needs 2 evaluation episodes"):
        falls({"shop": [1.0, 1.0]}, {"maze": [1.0, 1.0]})
