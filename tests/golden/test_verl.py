"""Advantages, losses, gradients, divergences and weights beside verl 0.9.1."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import pytest
import torch
from support.rollouts import single_steps

from agentevol.core.algorithms.contract import Loss, Rollouts
from agentevol.core.algorithms.registry import objective
from agentevol.learn.algorithms.advantages.baselines import grpo, reinforce_pp, reinforce_pp_baseline, rloo
from agentevol.learn.algorithms.advantages.gae import gae, returns_to_go
from agentevol.learn.algorithms.losses.aggregation import Aggregation
from agentevol.learn.algorithms.losses.importance import Correction
from agentevol.learn.algorithms.losses.kl import AdaptiveKL, k1, k2, k3
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.losses.value_loss import value_loss
from agentevol.learn.algorithms.policy_gradient.ppo import ppo_advantages
from agentevol.learn.algorithms.testing import batch_of

pytestmark = pytest.mark.golden

Read = Callable[[str], dict[str, Any]]
Agree = Callable[..., None]
NO_SIDE_TERMS = {"kl_coef": 0.0, "entropy_coef": 0.0}


def rollouts_of_rows(inputs: dict[str, Any]) -> Rollouts:
    """Rows as episodes. One without a learnt token stays a member of its group, as it does in verl."""
    mask = np.asarray(inputs["mask"], dtype=np.bool_)
    rewards = np.asarray(inputs["token_reward"], dtype=np.float64) * mask
    sequence, _ = mask.nonzero()
    return Rollouts(
        sequence=sequence,
        step=sequence,
        reward=rewards[mask],
        group=[str(name) for name in inputs["group"]],
        truncated=np.zeros(len(mask), dtype=np.bool_),
        costs={},
        steps=single_steps(rewards.sum(axis=1), mask.sum(axis=1)),
        value=np.asarray(inputs["value"], dtype=np.float64)[mask],
    )


def at_tokens(values: Any, mask: Any) -> np.ndarray:
    """(N,) the learnt entries of (B, T) values, or of (B,) ones repeated along the rows."""
    chosen = np.asarray(mask, dtype=np.bool_)
    array = np.asarray(values, dtype=np.float64)
    return np.broadcast_to(array[:, None], chosen.shape)[chosen] if array.ndim == 1 else array[chosen]


def policy_batch(inputs: dict[str, Any]) -> Any:
    return batch_of(
        inputs["logp"],
        inputs["mask"],
        group=inputs["group"],
        old_logp=inputs["old_logp"],
        advantage=inputs["policy_advantage"],
        rollout_logp=inputs["rollout_logp"],
    )


def agrees(agree: Agree, loss: Loss, by: torch.Tensor, expected: dict, mask: Any, at: Any, what: str) -> None:
    """The value, and where the file has it the gradient, which is 0 off the mask."""
    agree(loss.value.item(), expected["loss"], at, what)
    if "grad_logp" in expected:
        (gradient,) = torch.autograd.grad(loss.value, by)
        agree(gradient, at_tokens(expected["grad_logp"], mask), at, f"gradient of {what}")
        assert not (np.asarray(expected["grad_logp"]) * (1 - np.asarray(mask))).any()


def test_advantages(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        inputs, hyper, expected, at = case["inputs"], case["hyper"], case["expected"], file["tolerance"]
        rollouts, mask = rollouts_of_rows(inputs), inputs["mask"]
        raw = {"singleton": "raw"}
        found = {
            "grpo": grpo(rollouts, epsilon=hyper["eps"], **raw),
            "dr_grpo": grpo(rollouts, scale_rewards="none", **raw),
            "rloo": rloo(rollouts, **raw),
            "reinforce_pp_baseline": reinforce_pp_baseline(rollouts, **raw),
        }
        for name, ours in found.items():
            agree(ours.advantage, at_tokens(expected[name], mask), at, f"{case['id']} {name}")
        whole = expected["reinforce_pp"]
        ours = reinforce_pp(rollouts, gamma=hyper["gamma"]).advantage
        agree(ours, at_tokens(whole["advantage"], mask), at, f"{case['id']} reinforce_pp")
        ours = returns_to_go(rollouts, hyper["gamma"])
        agree(ours, at_tokens(whole["returns"], mask), at, f"{case['id']} returns to go")


def test_gae(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        rollouts, mask = rollouts_of_rows(case["inputs"]), case["inputs"]["mask"]
        options = {"gamma": case["hyper"]["gamma"], "gae_lambda": case["hyper"]["lam"]}
        raw, white = gae(rollouts, **options), ppo_advantages(rollouts, **options)
        expected = case["expected"]["gae"]
        for ours, name in (
            (raw.advantage, "advantage_raw"),
            (white.advantage, "advantage_whitened"),
            (white.target, "returns"),
        ):
            agree(ours, at_tokens(expected[name], mask), file["tolerance"], f"{case['id']} {name}")


def test_the_clipped_surrogate_with_every_aggregation(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        batch, mask, at = policy_batch(case["inputs"]), case["inputs"]["mask"], file["tolerance"]
        for kind, expected in case["expected"]["ppo"].items():
            loss = policy_gradient(
                batch,
                clip_low=case["hyper"]["clip_low"],
                clip_high=case["hyper"]["clip_high"],
                dual_clip=case["hyper"]["dual_clip_c"],
                aggregation=kind.replace("-", "_"),
                horizon=len(mask[0]),
            )
            what, figures = f"{case['id']} ppo {kind}", loss.metrics
            agrees(agree, loss, batch.logp, expected, mask, at, what)
            bound = figures["clipfrac_low"] + figures["clipfrac_high"]
            agree(bound, expected["clipfrac"], at, f"{what} clipfrac")
            agree(figures["clipfrac_dual"], expected["clipfrac_lower"], at, f"{what} clipfrac_lower")
            agree(figures["approx_kl"], expected["ppo_kl"], at, f"{what} ppo_kl")


def test_the_other_surrogates_and_the_weighted_one(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        hyper, expected, mask = case["hyper"], case["expected"], case["inputs"]["mask"]
        batch = policy_batch(case["inputs"])
        clip = {"clip_low": hyper["clip_low"], "clip_high": hyper["clip_high"]}
        weighted = {"importance": "token", "importance_cap": hyper["tis_cap"]}
        dual = {"dual_clip": hyper["dual_clip_c"]}
        found = {
            "gspo": objective("gspo", {**NO_SIDE_TERMS, **clip}).loss(batch),
            "cispo": objective("cispo", {**NO_SIDE_TERMS, **clip}).loss(batch),
            "ppo_token_mean_with_tis": policy_gradient(batch, **clip, **dual, **weighted),
        }
        for name, loss in found.items():
            what = f"{case['id']} {name}"
            agrees(agree, loss, batch.logp, expected[name], mask, file["tolerance"], what)
        bound = found["gspo"].metrics["clipfrac_low"] + found["gspo"].metrics["clipfrac_high"]
        agree(bound, expected["gspo"]["clipfrac"], file["tolerance"], f"{case['id']} gspo clipfrac")


def test_the_value_loss(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        inputs, expected = case["inputs"], case["expected"]
        batch = batch_of(
            inputs["logp"],
            inputs["mask"],
            value=inputs["value_pred"],
            old_value=inputs["value"],
            target=expected["gae"]["returns"],
        )
        loss = value_loss(batch, value_clip=case["hyper"]["value_clip"])
        ours = (loss.value.item(), loss.metrics["vf_clipfrac"])
        theirs = (expected["value_loss"]["loss"], expected["value_loss"]["clipfrac"])
        agree(ours, theirs, file["tolerance"], f"{case['id']} value loss")


def test_divergences_and_importance_weights(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("verl_core")
    for case in file["cases"]:
        inputs, expected, mask = case["inputs"], case["expected"], case["inputs"]["mask"]
        batch = policy_batch(inputs)
        gap = batch.logp.detach() - torch.from_numpy(at_tokens(inputs["ref_logp"], mask))
        for name, estimator in (("k1", k1), ("k2", k2), ("k3", k3)):
            theirs = at_tokens(expected["kl"][name], mask)
            agree(estimator(gap), theirs, file["tolerance"], f"{case['id']} {name}")
        engine = batch.old_logp - batch.rollout_logp
        for kind in ("token", "sequence"):
            weights = Correction(kind, cap=case["hyper"]["tis_cap"])
            ours = weights.weights(engine, batch.sequence, len(batch.weight))
            (name,) = (key for key in expected if key.startswith(f"tis_{kind}_"))
            agree(ours, at_tokens(expected[name], mask), file["tolerance"], f"{case['id']} {name}")


def test_the_adaptive_coefficient(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("adaptive_kl")
    for case in file["cases"]:
        hyper, inputs = case["hyper"], case["inputs"]
        controller = AdaptiveKL(hyper["init"], hyper["target"], hyper["horizon"])
        found = []
        for kl, sequences in zip(inputs["kl"], inputs["n_steps"], strict=True):
            controller = controller.updated(kl, sequences)
            found.append(controller.coef)
        agree(found, case["expected"]["coef_after_each_update"], file["tolerance"], case["id"])


def test_the_first_batch(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("batch1_verl")
    data, at, hyper = file["data"], file["tolerance"], file["data"]["hyper"]
    mask = data["mask"]
    rollouts = rollouts_of_rows({**data, "token_reward": data["rew"], "value": data["val"]})
    estimates = gae(rollouts, gamma=data["gae"]["gamma"], gae_lambda=data["gae"]["lam"])
    white = ppo_advantages(rollouts, gamma=data["gae"]["gamma"], gae_lambda=data["gae"]["lam"])
    raw = {"singleton": "raw"}
    for name, ours, theirs in (
        ("gae", white.advantage, data["gae"]["adv"]),
        ("returns", estimates.target, data["gae"]["ret"]),
        ("grpo", grpo(rollouts, epsilon=hyper["eps"], **raw).advantage, data["grpo"]),
        ("dr_grpo", grpo(rollouts, scale_rewards="none", **raw).advantage, data["dr_grpo"]),
        ("rloo", rloo(rollouts, **raw).advantage, data["rloo"]),
        ("rfpp", reinforce_pp(rollouts, gamma=hyper["reinforce_pp_gamma"]).advantage, data["rfpp"]),
    ):
        agree(ours, at_tokens(theirs, mask), at, name)


def first_batch_losses(data: dict[str, Any]) -> dict[str, float]:
    hyper, mask = data["hyper"], data["mask"]
    batch = batch_of(data["logp"], mask, old_logp=data["old"], advantage=data["adv_grpo_masked"])
    clip = {"clip_low": hyper["clip_low"], "clip_high": hyper["clip_high"]}
    dual = {"dual_clip": hyper["dual_clip_c"], "horizon": len(mask[0])}
    found = {
        f"ppo_{kind.replace('_', '-')}": policy_gradient(batch, **clip, **dual, aggregation=kind)
        for kind in get_args(Aggregation)
    }
    found |= {name: objective(name, {**NO_SIDE_TERMS, **clip}).loss(batch) for name in ("gspo", "cispo")}
    predicted = data["value_loss"]
    critic = batch_of(
        data["logp"],
        mask,
        value=predicted["vpred"],
        old_value=data["val"],
        target=data["gae"]["ret"],
    )
    found["value_loss"] = value_loss(critic, value_clip=predicted["clip"])
    return {name: loss.value.item() for name, loss in found.items()}


def test_the_losses_of_the_first_batch(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("batch1_verl")
    data, at = file["data"], file["tolerance"]
    found = first_batch_losses(data)
    expected = {name: theirs for name, theirs in data.items() if name.startswith("ppo_")}
    expected |= {name: data[name] for name in ("gspo", "cispo")}
    expected["value_loss"] = data["value_loss"]["loss"]
    for name, theirs in expected.items():
        agree(found[name], theirs, at, name)


def test_the_divergences_and_weights_of_the_first_batch(golden_algorithm: Read, agree: Agree):
    file = golden_algorithm("batch1_verl")
    data, at, mask = file["data"], file["tolerance"], file["data"]["mask"]
    gap = torch.tensor(data["logp"], dtype=torch.float64) - torch.tensor(data["ref"], dtype=torch.float64)
    for name, estimator in (("kl_k1", k1), ("kl_k2", k2), ("kl_k3", k3)):
        agree(estimator(gap), data[name], at, name)
    learner, engine = (at_tokens(data[key], mask) for key in data["hyper"]["tis_log_ratio"].split(" - "))
    sequence = torch.from_numpy(np.asarray(mask, dtype=np.bool_).nonzero()[0])
    weights = Correction("token", cap=data["hyper"]["tis_cap"])
    ours = weights.weights(torch.from_numpy(learner - engine), sequence, len(mask))
    (name,) = (key for key in data if key.startswith("tis_token_"))
    agree(ours, at_tokens(data[name], mask), at, name)


@pytest.mark.parametrize("change", ["dual_clip", "clip_high", "aggregation", "old_logp"])
def test_the_oracle_notices_a_change(golden_algorithm: Read, change: str):
    # each change alone moves some case's loss far beyond the tolerance of 1e-7
    worst = 0.0
    for case in golden_algorithm("verl_core")["cases"]:
        options = {"clip_low": case["hyper"]["clip_low"], "clip_high": case["hyper"]["clip_high"]}
        inputs = dict(case["inputs"])
        if change == "old_logp":
            inputs["old_logp"] = inputs["rollout_logp"]
        else:
            options |= {change: {"dual_clip": 0.0, "clip_high": 0.1, "aggregation": "prompt_mean"}[change]}
        found = policy_gradient(policy_batch(inputs), **options).value.item()
        worst = max(worst, abs(found - case["expected"]["ppo"]["token-mean"]["loss"]))
    assert worst > 1e-3
