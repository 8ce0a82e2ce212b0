"""The value loss and PPO, by hand."""

from typing import Any

import pytest
import torch

from agentevol.core.algorithms.registry import algorithm
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.losses.value_loss import value_loss
from agentevol.learn.algorithms.policy_gradient.ppo import ppo
from agentevol.learn.algorithms.testing import batch_of, example_batch

# Three tokens, old value 0, clip 0.2:
#   value 1, target 2      max((1 - 2)^2, (0.2 - 2)^2) = 3.24     the clip acts
#   value 1, target -1     max((1 + 1)^2, (0.2 + 1)^2) = 4        it does not lower the loss
#   value 0.1, target 1    0.81                                   it is not reached
# loss = (3.24 + 4 + 0.81) / 2 / 3
CASE: dict[str, Any] = {
    "logp": [[-1.0, -1.0, -1.0]],
    "mask": [[1, 1, 1]],
    "value": [[1.0, 1.0, 0.1]],
    "old_value": [[0.0, 0.0, 0.0]],
    "target": [[2.0, -1.0, 1.0]],
    "old_logp": [[-1.0, -1.0, -1.0]],
    "advantage": [[1.0, 2.0, 3.0]],
}


def test_the_value_loss_is_half_the_larger_squared_error():
    loss = value_loss(batch_of(**CASE))
    assert loss.value.item() == pytest.approx(8.05 / 6, abs=1e-12)
    assert loss.metrics == {"value_loss": loss.value.item(), "vf_clipfrac": pytest.approx(1 / 3)}


@pytest.mark.parametrize(
    "change",
    [
        {"value": [[1.0, 1.1, 0.1]]},
        {"target": [[2.0, -1.0, 1.1]]},
        {"old_value": [[0.1, 0.0, 0.0]]},
        {"mask": [[1, 0, 1]]},
    ],
)
def test_the_oracle_notices_a_change(change: dict[str, Any]):
    assert value_loss(batch_of(**{**CASE, **change})).value.item() != pytest.approx(8.05 / 6, abs=1e-3)


def test_a_value_beyond_its_clip_has_no_gradient():
    batch = batch_of(**CASE)
    (gradient,) = torch.autograd.grad(value_loss(batch).value, batch.value)
    # (value - target) / 3, and 0 where the clip acts
    assert gradient.tolist() == pytest.approx([0, 2 / 3, -0.9 / 3], abs=1e-12)


def test_a_value_on_its_target_costs_nothing():
    exact = batch_of(**{**CASE, "value": CASE["target"], "old_value": CASE["target"]})
    assert value_loss(exact).value.item() == 0


def test_ppo_adds_the_value_loss_with_its_coefficient():
    # on-policy the surrogate is -mean A = -2
    batch = batch_of(**CASE)
    assert ppo(batch).value.item() == pytest.approx(-2 + 0.1 * 8.05 / 6, abs=1e-12)
    assert ppo(batch, value_coef=0.5).value.item() == pytest.approx(-2 + 0.5 * 8.05 / 6, abs=1e-12)
    assert {"policy_loss", "value_loss", "vf_clipfrac", "approx_kl"} <= ppo(batch).metrics.keys()


def test_options_reach_both_losses():
    # one row of 3 tokens: sums, over the horizon
    options = {"aggregation": "seq_mean_token_sum_norm", "horizon": 10}
    loss = ppo(batch_of(**CASE), **options)
    assert loss.value.item() == pytest.approx(-6 / 10 + 0.1 * 8.05 / 2 / 10, abs=1e-12)


def test_the_policys_part_is_the_core():
    whole = example_batch(algorithm("ppo"), seed=0)
    difference = ppo(whole).value - 0.1 * value_loss(whole).value
    assert difference.item() == pytest.approx(policy_gradient(whole).value.item(), abs=1e-12)
