"""Bradley-Terry losses beside TRL's reward trainer."""

from typing import Any

import pytest
import torch

from agentevol.core.algorithms.contract import Batch
from agentevol.learn.algorithms.reward_model.bradley_terry import bradley_terry
from agentevol.learn.algorithms.testing import batch_of

pytestmark = pytest.mark.golden

GRADIENTS = {"grad_chosen_score": 0, "grad_rejected_score": 1}
"""Which side's scores a gradient of the file is by."""


def pairs(chosen: list[float], rejected: list[float], margin: list[float] | None) -> Batch:
    """One pair of the file after the other, chosen side first."""
    scores = [score for pair in zip(chosen, rejected, strict=True) for score in pair]
    numbers = range(len(chosen))
    return batch_of(
        [[0.0]] * len(scores),
        [[True]] * len(scores),
        head=[[[score]] for score in scores],
        unit=[number for number in numbers for _ in range(2)],
        side=[1, -1] * len(chosen),
        margin=[given for given in margin or [0.0] * len(chosen) for _ in range(2)],
    )


def gradient(chosen: Any, rejected: Any, margin: Any, centre: float) -> tuple[torch.Tensor, torch.Tensor]:
    """-sigmoid(m - c + r) / P + 2 centre (c + r) / P by c; by r the first part has the other sign."""
    c, r = torch.tensor(chosen, dtype=torch.float64), torch.tensor(rejected, dtype=torch.float64)
    m = torch.zeros_like(c) if margin is None else torch.tensor(margin, dtype=torch.float64)
    pull, push = torch.sigmoid(m - c + r) / len(c), 2 * centre * (c + r) / len(c)
    return push - pull, push + pull


def test_losses_and_accuracies_are_those_of_trl(golden_algorithm, agree):
    file = golden_algorithm("trl_preference")
    cases = [case for case in file["cases"] if case["loss_type"] == "bradley_terry"]
    assert cases
    for case in cases:
        inputs, expected = case["inputs"], case["expected"]
        given = inputs["chosen_score"], inputs["rejected_score"], inputs["margin"]
        centre = case["hyper"]["center_rewards_coefficient"]
        data = pairs(*given)
        loss = bradley_terry(data, heads=1, centre=centre, margin=1.0)
        loss.value.backward()
        agree(loss.value, expected["loss"], file["tolerance"], case["id"])
        agree(loss.metrics["accuracy"], expected["accuracy"], file["tolerance"], case["id"])
        assert data.head.grad is not None
        sides = data.head.grad[::2, 0], data.head.grad[1::2, 0]
        for ours, derived in zip(sides, gradient(*given, centre), strict=True):
            agree(ours, derived.tolist(), {"abs": 1e-12, "rel": 1e-12}, case["id"])
        for name in expected.keys() & GRADIENTS.keys():
            agree(sides[GRADIENTS[name]], expected[name], file["tolerance"], f"{case['id']}: {name}")


def test_the_loss_of_the_first_batch_is_that_of_trl(golden_algorithm, agree):
    file = golden_algorithm("batch1_trl")
    case = file["data"]["rm"]
    loss = bradley_terry(pairs(case["c"], case["r"], None), heads=1, centre=case["center"])
    agree(loss.value, case["loss"], file["tolerance"], "rm")


def test_other_scores_sides_and_coefficients_do_not_agree(golden_algorithm, agree):
    file = golden_algorithm("batch1_trl")
    case = file["data"]["rm"]
    for changed, centre in (
        (pairs(case["r"], case["c"], None), case["center"]),
        (pairs(case["c"], case["r"], [0.01] * len(case["c"])), case["center"]),
        (pairs(case["c"], case["r"], None), case["center"] + 0.01),
    ):
        loss = bradley_terry(changed, heads=1, centre=centre, margin=1.0)
        with pytest.raises(AssertionError):
            agree(loss.value, case["loss"], file["tolerance"], "rm")
