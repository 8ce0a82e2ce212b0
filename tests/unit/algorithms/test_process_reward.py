"""The loss of process reward models, by hand."""

from dataclasses import replace
from math import log, nan

import pytest
import torch

from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.reward_model.process_reward import process_reward
from agentevol.learn.algorithms.testing import batch_of, example_batch, part_of

# Two turns of one episode and one of another that nobody labelled; sigmoid(ln 3) = 3/4, sigmoid(0) = 1/2.
#   label 1/2: -(1/2 ln 3/4 + 1/2 ln 1/4) = ln 4 - 1/2 ln 3;   label 0: -ln 1/2 = ln 2
CASE = {
    "head": [[[log(3)], [0.0]], [[5.0], [0.0]]],
    "label": [[[0.5], [0.0]], [[nan], [nan]]],
    "mask": [[True, True], [True, False]],
    "label_samples": [[4, 1], [0, 0]],
}
LOSS = (log(4) - 0.5 * log(3) + log(2)) / 2


def turns(**changes) -> Batch:
    given = {**CASE, **changes}
    return batch_of([[0.0] * 2] * 2, given.pop("mask"), **given)


def test_the_loss_is_the_mean_cross_entropy_over_the_labelled_turns():
    loss = process_reward(turns())
    assert loss.value.item() == pytest.approx(LOSS, abs=1e-12)
    # errors 3/4 - 1/2 and 1/2 - 0: (1/16 + 1/4) / 2
    assert loss.metrics == pytest.approx({"bce": LOSS, "brier": 5 / 32}, abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"head": [[[log(3)], [0.1]], [[5.0], [0.0]]]},
        {"label": [[[0.5], [0.0]], [[0.5], [nan]]]},
        {"label": [[[0.6], [0.0]], [[nan], [nan]]]},
    ],
)
def test_the_oracle_notices_a_change(change: dict):
    assert process_reward(turns(**change)).value.item() != pytest.approx(LOSS, abs=1e-3)


def test_a_hard_label_is_1_as_soon_as_any_continuation_succeeded():
    # label 1: -ln 3/4; label 0: ln 2
    loss = process_reward(turns(), hard=True).value.item()
    assert loss == pytest.approx((log(4 / 3) + log(2)) / 2, abs=1e-12)


def test_labels_of_many_continuations_can_count_more():
    # 4 / 5 and 1 / 2 of the two losses, still divided by two turns
    loss = process_reward(turns(), trust_samples=True).value.item()
    assert loss == pytest.approx((0.8 * (log(4) - 0.5 * log(3)) + 0.5 * log(2)) / 2, abs=1e-12)


def test_a_label_equal_to_the_prediction_has_no_gradient():
    data = turns(label=[[[0.75], [0.5]], [[nan], [nan]]])
    process_reward(data).value.backward()
    assert data.head.grad is not None
    assert data.head.grad.flatten().tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-15)
    other = turns()
    process_reward(other).value.backward()
    assert other.head.grad is not None
    assert other.head.grad[:2].abs().min() > 0.1
    assert other.head.grad[2].item() == 0.0


def test_each_head_has_labels_and_a_mean_of_its_own():
    # head 1 is labelled in the third turn alone: -ln sigmoid(0) = ln 2
    data = turns(
        head=[[[log(3), 9.0], [0.0, 9.0]], [[5.0, 0.0], [0.0, 0.0]]],
        label=[[[0.5, nan], [0.0, nan]], [[nan, 1.0], [nan, nan]]],
    )
    loss = process_reward(data)
    assert loss.value.item() == pytest.approx((LOSS + log(2)) / 2, abs=1e-12)
    assert (loss.metrics["bce_0"], loss.metrics["bce_1"]) == pytest.approx((LOSS, log(2)))
    assert (loss.metrics["brier_0"], loss.metrics["brier_1"]) == pytest.approx((5 / 32, 1 / 4))


def test_extreme_scores_stay_finite():
    # -ln(1 - sigmoid(500)) = 500
    data = turns(head=[[[500.0], [-500.0]], [[0.0], [0.0]]], label=[[[0.0], [1.0]], [[nan], [nan]]])
    assert process_reward(data).value.item() == pytest.approx(500.0)


def test_gradients_of_micro_batches_add_up():
    loss = objective("process_reward", {"trust_samples": True}).loss
    whole = example_batch(algorithm("process_reward"), seed=1)
    loss(whole).value.backward()
    together = []
    for number in range(len(whole.weight)):
        part = part_of(whole, [number])
        part = replace(part, head=part.head.detach().requires_grad_())
        loss(part).value.backward()
        together.append(part.head.grad)
    assert torch.allclose(torch.cat(together), whole.head.grad, rtol=1e-12, atol=1e-15)


def test_trust_in_samples_that_nobody_counted_is_an_error():
    with pytest.raises(ConfigError, match="needs the number of continuations"):
        process_reward(replace(turns(), label_samples=None), trust_samples=True)


def test_counts_of_labels_that_do_not_fit_the_heads_are_an_error():
    data = turns()
    with pytest.raises(ConfigError, match="0 counts of labels for 1 heads"):
        process_reward(replace(data, totals=replace(data.totals, labels=())))
