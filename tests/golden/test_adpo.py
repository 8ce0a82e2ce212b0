"""ADPO against wk222/verlm (version A), and its accuracy reward against the written rule."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Batch, Loss
from agentevol.learn.algorithms.preference.adpo import adpo, advantage, weigh
from agentevol.learn.algorithms.testing import batch_of
from agentevol.learn.rewards.repetition import repeated_share

pytestmark = pytest.mark.golden

NAMES = {
    "tau": "tau",
    "beta_reward": "beta_reward",
    "use_adaptive_tau": "adaptive",
    "adaptive_tau_alpha": "alpha",
    "adaptive_tau_min": "tau_min",
    "beta_anchor_kl": "kl_coef",
    "renormalize_q": "renormalize_q",
}
"""Their settings and ours; the others belong to the advantages and to what is dropped."""


def loss_options(hyper: dict[str, Any]) -> dict[str, Any]:
    options = {ours: hyper[theirs] for theirs, ours in NAMES.items() if theirs in hyper}
    return options | {"length_normalize": "always" if hyper.get("length_normalize") else "never"}


def advantages_of(inputs: dict[str, Any], scale_rewards: Any) -> list[float]:
    """(B,) of rows whose reward is known."""
    count = len(inputs["reward"])
    rollouts = rollouts_of(inputs["reward"], np.ones((count, 1)), inputs["group"])
    return advantage(rollouts, scale_rewards=scale_rewards).advantage.tolist()


def batch_from(inputs: dict[str, Any], advantages: Sequence[float], kept: Sequence[float]) -> Batch:
    """The optimiser batch of the rows of weight 1."""
    mask = np.asarray(inputs["mask"]) * np.asarray(kept)[:, None]
    return batch_of(
        inputs["logp"],
        mask,
        old_logp=inputs["old_logp"],
        advantage=advantages,
        reward=inputs["reward"],
        group=inputs["group"],
        unit=inputs["group"],
    )


def gradient_rows(batch: Batch, loss: Loss, inputs: dict[str, Any], kept: Sequence[float]) -> torch.Tensor:
    """(B, T), 0 off the mask and in rows that were dropped."""
    chosen = torch.as_tensor(np.asarray(inputs["mask"]) * np.asarray(kept)[:, None], dtype=torch.bool)
    (gradient,) = torch.autograd.grad(loss.value, batch.logp)
    return torch.zeros(chosen.shape, dtype=torch.float64).masked_scatter(chosen, gradient)


def test_losses_gradients_advantages_and_metrics(
    golden_algorithm: Callable[[str], Any], agree: Callable[..., None]
):
    file = golden_algorithm("adpo")
    for case in file["cases"]:
        inputs, hyper, expected = case["inputs"], case["hyper"], case["expected"]
        what, tolerance = case["id"], file["tolerance"]
        advantages = advantages_of(inputs, hyper["scale_rewards"])
        agree(advantages, expected["advantage"], tolerance, f"{what} advantage")
        kept = weigh(
            inputs["failed_test_rewards"] or inputs["reward"],
            inputs["group"],
            drop_all_failed=hyper["drop_all_failed_prompts"],
        ).tolist()
        batch = batch_from(inputs, advantages, kept)
        loss = adpo(batch, **loss_options(hyper))
        agree(loss.value.detach(), expected["loss"], tolerance, f"{what} loss")
        agree(gradient_rows(batch, loss, inputs, kept), expected["grad_logp"], tolerance, f"{what} gradient")
        # theirs are over all prompts, also those that the loss drops; the penalty alone is over what it keeps
        everything = adpo(batch_from(inputs, advantages, [1.0] * len(kept)), **loss_options(hyper)).metrics
        metrics = expected["metrics"]
        agree(everything["listwise"], metrics["loss"], tolerance, f"{what} listwise")
        agree(everything["drift"], metrics["anchor_kl"], tolerance, f"{what} drift")
        if "mean_tau" in metrics:
            agree(everything["tau"], metrics["mean_tau"], tolerance, f"{what} tau")
        if "kl_penalty" in metrics:
            agree(loss.metrics["k3"], metrics["kl_penalty"], tolerance, f"{what} penalty")
        if "dropped_prompts" in metrics:
            dropped = everything["groups"] - loss.metrics.get("groups", 0.0)
            assert dropped == metrics["dropped_prompts"], what


def test_rows_in_another_order_give_the_same(
    golden_algorithm: Callable[[str], Any], agree: Callable[..., None]
):
    # the project reshapes by position, which mixes groups as soon as rows are moved; ours go by id
    file = golden_algorithm("adpo")
    for case in file["cases"]:
        order = np.random.default_rng(0).permutation(len(case["inputs"]["reward"]))
        inputs = {
            key: None if value is None else [value[row] for row in order]
            for key, value in case["inputs"].items()
        }
        if case["hyper"]["drop_all_failed_prompts"]:
            continue
        advantages = advantages_of(inputs, case["hyper"]["scale_rewards"])
        loss = adpo(batch_from(inputs, advantages, [1.0] * len(order)), **loss_options(case["hyper"]))
        agree(loss.value.detach(), case["expected"]["loss"], file["tolerance"], case["id"])


def test_the_first_batch(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("batch1_ampo_adpo_gigpo")
    data, tolerance = file["data"]["adpo"], file["tolerance"]
    inputs = {
        **{name: data[name] for name in ("logp", "old_logp", "mask")},
        "reward": data["seq_reward"],
        "group": [prompt for prompt in range(data["P"]) for _ in range(data["G"])],
    }
    for result in data["results"]:
        what = f"{result['scale']} {result['cfg']}"
        hyper = {**data["defaults"], **result["cfg"], "renormalize_q": True}
        batch = batch_from(inputs, advantages_of(inputs, result["scale"]), [1.0] * len(inputs["reward"]))
        loss = adpo(batch, **loss_options(hyper))
        agree(loss.value.detach(), result["loss"], tolerance, what)
        (gradient,) = torch.autograd.grad(loss.value, batch.logp)
        agree(gradient.sum(), result["grad_sum"], tolerance, f"{what} gradient")
        agree(gradient.abs().sum(), result["grad_abs"], tolerance, f"{what} gradient, absolute")
        agree(loss.metrics["listwise"], result["metrics"]["adpo/loss"], tolerance, what)
        agree(loss.metrics["drift"], result["metrics"]["adpo/anchor_kl"], tolerance, what)


def test_the_comparison_notices_a_change(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("adpo")
    case = file["cases"][0]
    advantages = advantages_of(case["inputs"], case["hyper"]["scale_rewards"])
    batch = batch_from(case["inputs"], advantages, [1.0] * len(advantages))
    options = loss_options(case["hyper"])
    moved = replace(batch, old_logp=batch.old_logp + torch.linspace(0, 1e-4, len(batch.logp)))
    raw = batch_from(case["inputs"], advantages_of(case["inputs"], "none"), [1.0] * len(advantages))
    for changed, others in ((moved, {}), (batch, {"tau": 0.81}), (raw, {"renormalize_q": False})):
        loss = adpo(changed, **{**options, **others}).value.detach()
        with pytest.raises(AssertionError, match="beyond the tolerance"):
            agree(loss, case["expected"]["loss"], file["tolerance"], "changed")


def test_good_accuracy(golden_algorithm: Callable[[str], Any], agree: Callable[..., None]):
    file = golden_algorithm("adpo_good_accuracy")
    for case in file["cases"]:
        inputs = case["inputs"]
        penalty = case["hyper"]["penalty_scale"] * case["hyper"]["max_penalty"]
        score = 1.0 if inputs["correct"] else penalty * repeated_share(inputs["text"], case["hyper"]["n"])
        agree(score, case["expected"]["score"], file["tolerance"], case["id"])
