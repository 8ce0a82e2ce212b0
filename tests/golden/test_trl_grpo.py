"""Losses of the GRPO family beside TRL 1.16.0, with the importance ratio on the KL term."""

from collections.abc import Callable
from typing import Any

import pytest

from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.testing import batch_of

pytestmark = pytest.mark.golden

AGGREGATIONS = {
    "grpo": "seq_mean_token_mean",
    "dr_grpo": "seq_mean_token_sum_norm",
    "dapo": "token_mean",
    "bnpo": "token_mean",
}


def loss_of(inputs: dict[str, Any], kind: str, level: str, hyper: dict[str, Any]) -> float:
    batch = batch_of(
        inputs["logp"],
        inputs["mask"],
        old_logp=inputs["old_logp"],
        ref_logp=inputs["ref_logp"],
        advantage=inputs["advantage"],
    )
    return policy_gradient(
        batch,
        ratio=level,
        clip_low=hyper["eps_low"],
        clip_high=hyper["eps_high"],
        dual_clip=0.0,
        aggregation=AGGREGATIONS[kind],
        horizon=hyper["max_completion_length"],
        kl_coef=hyper["beta"],
        kl="k3_weighted" if hyper["bias_corrected_kl"] else "k3",
    ).value.item()


def test_the_losses_of_trl(golden_algorithm: Callable, agree: Callable):
    file = golden_algorithm("trl_grpo_loss")
    for case in file["cases"]:
        ours = loss_of(case["inputs"], case["loss_type"], case["importance_level"], case["hyper"])
        agree(ours, case["expected"]["loss"], file["tolerance"], case["id"])


def test_the_losses_of_the_first_batch(golden_algorithm: Callable, agree: Callable):
    file = golden_algorithm("batch1_trl")
    names = [name for name in file["data"] if name.startswith("grpo_")]
    assert names
    for name in names:
        case = file["data"][name]
        kind, level = name.removeprefix("grpo_").rsplit("_", 1)
        inputs = {key + "_logp": case[key] for key in ("old", "ref")}
        inputs |= {"logp": case["logp"], "mask": case["mask"], "advantage": case["adv"]}
        hyper = {
            "beta": case["beta"],
            "eps_low": case["eps"][0],
            "eps_high": case["eps"][1],
            "max_completion_length": len(case["mask"][0]),
            "bias_corrected_kl": case["bias_corrected_kl"],
        }
        agree(loss_of(inputs, kind, level, hyper), case["loss"], file["tolerance"], name)


@pytest.mark.parametrize("change", [{"bias_corrected_kl": False}, {"eps_high": 0.1}])
def test_the_oracle_notices_a_change(golden_algorithm: Callable, change: dict[str, Any]):
    file = golden_algorithm("trl_grpo_loss")
    worst, at = 0.0, file["tolerance"]
    for case in file["cases"]:
        hyper, theirs = {**case["hyper"], **change}, case["expected"]["loss"]
        ours = loss_of(case["inputs"], case["loss_type"], case["importance_level"], hyper)
        worst = max(worst, abs(ours - theirs) / (at["abs"] + at["rel"] * abs(theirs)))
    assert worst > 2  # tolerances
