"""The core of the policy gradients, by hand."""

from dataclasses import replace
from math import exp, log
from typing import Any, get_args

import numpy as np
import pytest
import torch

from agentevol.core.algorithms.contract import Batch, Loss
from agentevol.core.algorithms.options import takes_options_of
from agentevol.core.algorithms.registry import ALGORITHMS, algorithm, objective, option_defaults, option_types
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.advantages.baselines import rloo
from agentevol.learn.algorithms.losses.aggregation import Aggregation
from agentevol.learn.algorithms.losses.importance import Importance
from agentevol.learn.algorithms.losses.kl import KL
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.policy_gradient.family import family
from agentevol.learn.algorithms.testing import batch_of, example_batch, example_rollouts, part_of

# Four tokens of ratios 2, 2, 0.5, 5 and advantages 1, -1, 1, -1; clip 0.2, dual clip 3.
#   -min(2, 1.2) = -1.2      the upper bound acts
#   max(2, 1.2) = 2          none
#   -min(0.5, 0.8) = -0.5    none
#   min(5, 3) = 3            the dual bound acts
# loss = 3.3 / 4
CASE: dict[str, Any] = {
    "logp": [[log(2), log(2), log(0.5), log(5)]],
    "mask": [[1, 1, 1, 1]],
    "old_logp": [[0.0, 0.0, 0.0, 0.0]],
    "advantage": [[1.0, -1.0, 1.0, -1.0]],
}


def case(**changes: Any) -> Batch:
    return batch_of(**{**CASE, **changes})


def gradients(loss: Loss, by: torch.Tensor) -> list[float]:
    return torch.autograd.grad(loss.value, by)[0].tolist()


def test_the_clip_binds_only_where_it_lowers_the_objective():
    loss = policy_gradient(case())
    assert loss.value.item() == pytest.approx(3.3 / 4, abs=1e-12)
    assert loss.metrics["clipfrac_high"] == loss.metrics["clipfrac_dual"] == 0.25
    assert loss.metrics["clipfrac_low"] == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"advantage": [[1.0, -1.1, 1.0, -1.0]]},
        {"logp": [[log(2), log(2.1), log(0.5), log(5)]]},
        {"mask": [[1, 1, 1, 0]]},
        {"old_logp": [[0.0, 0.1, 0.0, 0.0]]},
    ],
)
def test_the_oracle_notices_a_change(changes: dict[str, Any]):
    assert policy_gradient(case(**changes)).value.item() != pytest.approx(3.3 / 4, abs=1e-3)


def test_each_bound_is_an_option():
    assert policy_gradient(case(), dual_clip=0.0).value.item() == pytest.approx(5.3 / 4, abs=1e-12)
    assert policy_gradient(case(), clip_high=0.28).value.item() == pytest.approx((3.3 - 0.08) / 4, abs=1e-12)
    # -1 * 0.5 at advantage -1 is clipped to 0.8 * 1, at clip_low 0.4 to 0.6
    low = case(advantage=[[1.0, -1.0, -1.0, -1.0]])
    wide = policy_gradient(low, clip_low=0.4)
    assert policy_gradient(low).value.item() - wide.value.item() == pytest.approx(0.2 / 4, abs=1e-12)
    assert wide.metrics["clipfrac_low"] == 0.25


def test_no_gradient_where_a_bound_acts():
    batch = case()
    # -A rho / 4 where none does
    expected = [0, 2 / 4, -0.5 / 4, 0]
    assert gradients(policy_gradient(batch), batch.logp) == pytest.approx(expected, abs=1e-12)


def test_on_policy_it_is_the_plain_policy_gradient():
    # ratio 1: loss -mean A, gradient -A / N, with every surrogate but the value of those on logp
    for options in ({}, {"ratio": "sequence"}, {"surrogate": "cispo"}, {"surrogate": "reinforce"}):
        batch = case(old_logp=CASE["logp"], advantage=[[1.0, -3.0, 0.5, 2.0]])
        loss = policy_gradient(batch, **options)
        assert gradients(loss, batch.logp) == pytest.approx([-0.25, 0.75, -0.125, -0.5], abs=1e-12)
        if "surrogate" not in options:
            assert loss.value.item() == pytest.approx(-0.5 / 4, abs=1e-12)


def test_cispo_keeps_the_gradient_of_clipped_tokens():
    # weights 1.2, 1.2, 0.8, 1.2 without gradient: gradient -w A / 4, value -w A logp / 4
    batch = case()
    loss = policy_gradient(batch, surrogate="cispo")
    assert gradients(loss, batch.logp) == pytest.approx([-0.3, 0.3, -0.2, 0.3], abs=1e-12)
    value = (-1.2 * log(2) + 1.2 * log(2) - 0.8 * log(0.5) + 1.2 * log(5)) / 4
    assert loss.value.item() == pytest.approx(value, abs=1e-12)
    assert (loss.metrics["clipfrac_high"], loss.metrics["clipfrac_low"]) == (0.75, 0.25)


def test_cispo_s_weight_has_no_lower_bound_and_an_upper_one():
    # ratios 2, 2, 0.5, 5: weights 1.28, 1.28, 0.5, 1.28, where a lower bound of 0.8 would give the third 0.8
    batch = case()
    loss = objective("cispo", {"entropy_coef": 0.0}).loss(batch)
    assert gradients(loss, batch.logp) == pytest.approx([-0.32, 0.32, -0.125, 0.32], abs=1e-12)
    assert loss.metrics["clipfrac_low"] == 0


def test_a_wide_cispo_is_reinforce_weighted_by_the_ratio():
    batch = case()
    loss = policy_gradient(batch, surrogate="cispo", clip_low=1.0, clip_high=100.0)
    assert gradients(loss, batch.logp) == pytest.approx([-2 / 4, 2 / 4, -0.5 / 4, 5 / 4], abs=1e-12)


def test_the_sequence_ratio_is_a_geometric_mean_whose_gradient_stays_at_its_token():
    # log-ratios 0.2 and 0: s = exp(0.1) at both tokens. Advantages 1 and -1 cancel in the value, and so would
    # the gradient of the value; but each token's share has a gradient by that token only: -+ s / 2.
    batch = batch_of([[-0.8, -1.0]], [[1, 1]], old_logp=[[-1.0, -1.0]], advantage=[[1.0, -1.0]])
    loss = policy_gradient(batch, ratio="sequence", dual_clip=0.0)
    assert loss.value.item() == pytest.approx(0, abs=1e-12)
    assert gradients(loss, batch.logp) == pytest.approx([-exp(0.1) / 2, exp(0.1) / 2], abs=1e-12)
    assert loss.metrics["ratio_mean"] == pytest.approx(exp(0.1), abs=1e-12)


def test_a_sequence_is_clipped_as_a_whole():
    # exp(0.1) = 1.105 is beyond 1.05, although the second token has not moved
    batch = batch_of([[-0.8, -1.0]], [[1, 1]], old_logp=[[-1.0, -1.0]], advantage=[1.0])
    loss = policy_gradient(batch, ratio="sequence", clip_high=0.05)
    assert loss.value.item() == pytest.approx(-1.05, abs=1e-12)
    assert gradients(loss, batch.logp) == [0, 0]
    by_token = policy_gradient(batch, clip_high=0.05)
    assert gradients(by_token, batch.logp) == pytest.approx([0, -0.5], abs=1e-12)


def test_the_ratio_of_a_sequence_does_not_mix_with_another():
    rows = {"old_logp": [[-1.0, -1.0], [-1.0, -1.0]], "advantage": [1.0, 1.0]}
    batch = batch_of([[-0.8, -1.0], [-1.4, -1.0]], [[1, 1], [1, 1]], **rows)
    loss = policy_gradient(batch, ratio="sequence", aggregation="seq_mean_token_mean", clip_low=1.0)
    assert loss.value.item() == pytest.approx(-(exp(0.1) + exp(-0.2)) / 2, abs=1e-12)


def test_divergence_and_entropy_are_added_with_their_coefficients():
    # surrogate 0; k2 of gaps 1 and 2: (0.5 + 2) / 2; entropy (0.3 + 0.5) / 2
    rows = {"old_logp": [[-1.0, -1.0]], "advantage": [0.0], "entropy": [[0.3, 0.5]]}
    batch = batch_of([[-1.0, -1.0]], [[1, 1]], ref_logp=[[-2.0, -3.0]], **rows)
    loss = policy_gradient(batch, kl_coef=0.1, kl="k2", entropy_coef=0.01)
    assert loss.value.item() == pytest.approx(0.1 * 1.25 - 0.01 * 0.4, abs=1e-12)
    assert loss.metrics["kl"] == pytest.approx(1.25, abs=1e-12)
    assert loss.metrics["entropy"] == pytest.approx(0.4, abs=1e-12)
    assert policy_gradient(batch).value.item() == 0


def test_the_straight_through_divergence_has_the_value_of_k3_and_the_gradient_of_k2():
    # d = -ln 2: value 1 - ln 2, gradient d; the gradient of k3 would be -1
    rows = {"old_logp": [[-1.0]], "advantage": [0.0], "ref_logp": [[-1.0 + log(2)]]}
    batch = batch_of([[-1.0]], [[1]], **rows)
    loss = policy_gradient(batch, kl_coef=1.0, kl="k3_straight")
    assert loss.value.item() == pytest.approx(1 - log(2), abs=1e-12)
    assert gradients(loss, batch.logp) == pytest.approx([-log(2)], abs=1e-12)
    assert gradients(policy_gradient(batch, kl_coef=1.0), batch.logp) == pytest.approx([-1], abs=1e-12)


def test_a_divergence_in_the_reward_is_not_in_the_loss_too():
    batch = batch_of([[-1.0]], [[1]], old_logp=[[-1.0]], advantage=[0.0], ref_logp=[[-1.5]])
    loss = policy_gradient(batch, kl_coef=1.0, kl="reward")
    assert loss.value.item() == 0
    assert loss.metrics["kl"] == pytest.approx(0.5)


def test_the_divergence_in_the_reward_is_that_of_the_policy_that_sampled():
    # k1 of the weights before the update is 0 at the reference; those after it made the sample less likely
    batch = batch_of([[-1.5]], [[1]], old_logp=[[-1.0]], advantage=[0.0], ref_logp=[[-1.0]])
    assert policy_gradient(batch, kl_coef=1.0, kl="reward").metrics["kl"] == 0
    assert policy_gradient(batch, kl_coef=1.0, kl="k1").metrics["kl"] == pytest.approx(-0.5)


def test_what_the_world_said_has_no_part_in_it():
    # the masked token's numbers are anything
    rows = {"mask": [[1, 0, 1]], "old_logp": [[-1.0, 5.0, -1.0]], "advantage": [[1.0, 99.0, 1.0]]}
    one = batch_of([[-0.9, -50.0, -1.0]], **rows)
    other = batch_of([[-0.9, -1.0, -1.0]], **{**rows, "old_logp": [[-1.0, -7.0, -1.0]]})
    assert policy_gradient(one).value.item() == policy_gradient(other).value.item()


def test_metrics_add_up_over_micro_batches():
    whole = example_batch(algorithm("grpo"), seed=6)
    options = {"kl_coef": 0.1, "entropy_coef": 0.1}
    expected = policy_gradient(whole, **options).metrics
    parts = [
        policy_gradient(part_of(whole, [number]), **options).metrics for number in range(len(whole.weight))
    ]
    for name, value in expected.items():
        found = [part[name] for part in parts]
        together = max(found) if name.endswith("_max") else sum(found)
        assert together == pytest.approx(value, abs=1e-12), name


FAMILY = [
    name
    for name in sorted(ALGORITHMS)
    if "kl" in option_types(algorithm(name)) and algorithm(name).data == "groups"
]


@pytest.mark.parametrize("name", FAMILY)
def test_a_divergence_that_leaves_the_loss_is_in_the_reward(name: str):
    # whoever takes the option `kl` of the core has to subtract it from the rewards
    rollouts = example_rollouts(0)
    with_it = objective(name, {"kl": "reward", "kl_coef": 0.5}).advantage(rollouts)
    without = objective(name, {"kl_coef": 0.0}).advantage(rollouts)
    assert not np.allclose(with_it.advantage, without.advantage)


def test_the_settings_of_the_family():
    keys = ("surrogate", "ratio", "clip_low", "clip_high", "dual_clip", "aggregation", "kl", "kl_coef")
    found = {
        name: tuple(option_defaults(algorithm(name))[key] for key in keys)
        for name in ("cispo", "dapo", "dr_grpo", "grpo", "gspo", "ppo", "reinforce_pp", "rloo")
    }
    assert found == {
        "cispo": ("cispo", "token", 1.0, 0.28, 3.0, "token_mean", "k3", 0.0),
        "dapo": ("clip", "token", 0.2, 0.28, 3.0, "token_mean", "k3", 0.0),
        "dr_grpo": ("clip", "token", 0.2, 0.2, 3.0, "seq_mean_token_sum_norm", "k3", 0.0),
        "grpo": ("clip", "token", 0.2, 0.2, 3.0, "seq_mean_token_mean", "k3", 0.001),
        "gspo": ("clip", "sequence", 3e-4, 4e-4, 0.0, "seq_mean_token_mean", "k3", 0.0),
        "ppo": ("clip", "token", 0.2, 0.2, 3.0, "token_mean", "reward", 0.001),
        "reinforce_pp": ("clip", "token", 0.2, 0.2, 3.0, "token_mean", "reward", 0.01),
        "rloo": ("reinforce", "token", 0.2, 0.2, 3.0, "seq_mean_token_sum", "reward", 0.001),
    }


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({"kl_coef": 0.0}, {"old_logp"}),
        ({"kl_coef": 0.1}, {"old_logp", "ref_logp"}),
        ({"kl_coef": 0.0, "importance": "masked"}, {"old_logp", "rollout_logp"}),
        ({"kl_coef": 0.0, "entropy_coef": 0.01}, {"old_logp", "entropy"}),
    ],
)
def test_a_column_is_needed_only_where_its_option_is_on(options: dict[str, Any], needs: set[str]):
    assert objective("grpo", options).needs == needs


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        (
            "grpo",
            {"clip_low": -0.1},
            "option 'clip_low' of grpo cannot be -0.1: .* greater than or equal to 0",
        ),
        ("grpo", {"dual_clip": 0.5}, "option 'dual_clip' of grpo cannot be 0.5: .* has to be above 1"),
        ("grpo", {"kl_coef": float("nan")}, "option 'kl_coef' of grpo cannot be nan"),
        ("grpo", {"ddof": 2}, "option 'ddof' of grpo cannot be 2"),
        ("ppo", {"gamma": 1.5}, "option 'gamma' of ppo cannot be 1.5: .* less than or equal to 1"),
        ("grpo", {"importance_cap": 3.0}, "no effect: 'importance' is 'none', not 'token' or 'sequence' or"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, Any], message: str):
    with pytest.raises(ConfigError, match=message):
        objective(name, options)


def test_unknown_settings_and_diverging_defaults_are_mistakes_of_the_author():
    def first(*, size: int = 1) -> int:
        return size

    def second(*, size: int = 2) -> int:
        return size

    def both(**options: int) -> int:
        return len(options)

    with pytest.raises(TypeError, match="option 'size' has two defaults"):
        takes_options_of(first, second)(both)
    with pytest.raises(TypeError, match="no option of this algorithm: clip_hihg"):
        family(rloo, clip_hihg=0.3)


def test_a_batch_of_one_token_is_enough():
    batch = replace(case(), advantage=torch.zeros(4, dtype=torch.float64))
    assert policy_gradient(batch).value.item() == 0
    one = batch_of([[-1.0]], [[1]], old_logp=[[-1.0]], advantage=[2.0])
    for name in FAMILY:
        given = replace(
            one, ref_logp=one.old_logp, old_value=one.old_logp, value=one.logp, target=one.old_logp
        )
        if algorithm(name).together == "sequence":
            assert objective(name).loss(given).value.isfinite()


SETTINGS: list[dict[str, Any]] = [
    *({"aggregation": kind} for kind in get_args(Aggregation)),
    *({"importance": kind, "importance_band": 0.3} for kind in get_args(Importance)),
    *({"kl": kind, "kl_coef": 0.1} for kind in get_args(KL)),
    {"ratio": "sequence", "kl": "k3_weighted", "kl_coef": 0.1, "aggregation": "prompt_mean"},
    {"surrogate": "cispo", "entropy_coef": 0.1},
    {"surrogate": "reinforce", "importance": "sequence"},
]


@pytest.mark.parametrize("options", SETTINGS, ids=str)
def test_no_setting_depends_on_micro_batches_or_order(options: dict[str, Any]):
    whole = example_batch(algorithm("grpo"), seed=7)
    loss = policy_gradient(whole, **options)
    value, gradient = loss.value.item(), gradients(loss, whole.logp)
    for split in ([[0, 1, 2], [3, 4, 5, 6, 7]], [[7, 3], [5, 1, 0], [2, 4, 6]]):
        total, found = 0.0, torch.zeros(len(whole.logp), dtype=torch.float64)
        for part in split:
            some = policy_gradient(part_of(whole, part), **options)
            total += some.value.item()
            found += torch.autograd.grad(some.value, whole.logp)[0]
        assert total == pytest.approx(value, abs=1e-12)
        assert found.tolist() == pytest.approx(gradient, abs=1e-12)


STOPPED = [{"ratio": "sequence"}, {"surrogate": "cispo"}, {"kl": "k3_straight", "kl_coef": 0.1}]


def stops(options: dict[str, Any]) -> bool:
    return any(each.items() <= options.items() for each in STOPPED)


@pytest.mark.parametrize("options", [each for each in SETTINGS if not stops(each)], ids=str)
def test_gradients_are_those_of_the_value_unless_they_are_stopped(options: dict[str, Any]):
    whole = example_batch(algorithm("grpo"), seed=8)

    def value(logp: torch.Tensor) -> torch.Tensor:
        return policy_gradient(replace(whole, logp=logp), **options).value

    assert torch.autograd.gradcheck(value, (whole.logp.detach().clone().requires_grad_(),))


@pytest.mark.parametrize("options", STOPPED, ids=str)
def test_stopped_gradients_are_not_those_of_the_value(options: dict[str, Any]):
    whole = example_batch(algorithm("grpo"), seed=8)

    def value(logp: torch.Tensor) -> torch.Tensor:
        return policy_gradient(replace(whole, logp=logp), **options).value

    given = (whole.logp.detach().clone().requires_grad_(),)
    assert not torch.autograd.gradcheck(value, given, raise_exception=False)
