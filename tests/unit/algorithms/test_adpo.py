"""ADPO by hand, its invariants, and what the released code gets wrong."""

from dataclasses import replace
from math import exp, log
from typing import Any, Literal

import numpy as np
import pytest
import torch
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.preference.adpo import adpo, advantage, weigh
from agentevol.learn.algorithms.preference.adpo_loss import k3, relative_entropy, target
from agentevol.learn.algorithms.testing import batch_of, part_of

Scale = Literal["group", "batch", "none"]


def batch(drifts: list[float], advantages: list[float], groups: list[int]) -> Batch:
    """Episodes of one token whose log-ratio is known."""
    return batch_of(
        [[-5.0 + drift] for drift in drifts],
        [[1]] * len(drifts),
        old_logp=[-5.0] * len(drifts),
        advantage=advantages,
        group=groups,
        unit=groups,
    )


def gradient(given: Batch, **options: Any) -> list[float]:
    return torch.autograd.grad(adpo(given, **options).value, given.logp)[0].tolist()


def test_one_group_by_hand():
    # beta_reward ln 2 / 1: q = softmax(ln 2, 0) = 2/3, 1/3; tau 0.5: u = 2, 0
    given = batch([1.0, 0.0], [log(2), 0.0], [0, 0])
    expected = log(1 + exp(-2)) + 2 / 3  # -(2/3 (2 - z) + 1/3 (0 - z)) with z = ln(e^2 + 1)
    value = adpo(given, beta_reward=1.0, tau=0.5, adaptive=False).value.item()
    assert value == pytest.approx(expected, abs=1e-12)
    # (softmax(u) - q) / tau
    first = (1 / (1 + exp(-2)) - 2 / 3) / 0.5
    assert gradient(given, beta_reward=1.0, tau=0.5, adaptive=False) == pytest.approx([first, -first])


@pytest.mark.parametrize(
    "change", [{"tau": 0.51}, {"beta_reward": 1.1}, {"adaptive": True}, {"kl_coef": 0.1}]
)
def test_the_oracle_notices_a_change(change: dict):
    given = batch([1.0, 0.0], [log(2), 0.0], [0, 0])
    options = {"beta_reward": 1.0, "tau": 0.5, "adaptive": False}
    plain = adpo(given, **options).value.item()
    assert adpo(given, **{**options, **change}).value.item() != pytest.approx(plain, abs=1e-3)


def test_the_temperature_follows_the_entropy_by_hand():
    # q uniform: H / ln G = 1, tau = 0.8 (1 - 0.5); q = (2/3, 1/3): H / ln 2 = 0.9183, tau = 0.8 (1 - 0.4591)
    assert adpo(batch([0.0] * 2, [0.0] * 2, [0, 0])).metrics["tau"] == pytest.approx(0.4, abs=1e-6)
    uneven = adpo(batch([0.0] * 2, [log(2), 0.0], [0, 0]), beta_reward=1.0).metrics
    assert uneven["relative_entropy"] == pytest.approx(0.918296, abs=1e-6)
    assert uneven["tau"] == pytest.approx(0.432682, abs=1e-6)
    # the floor
    assert adpo(batch([0.0] * 2, [0.0] * 2, [0, 0]), tau_min=0.6).metrics["tau"] == pytest.approx(0.6)


def test_uniform_returns_give_the_smallest_temperature():
    # the project's documentation says the opposite of its formula
    entropies = [relative_entropy(target(torch.tensor([a, 0.0]), 1.0)).item() for a in (0.0, 1.0, 5.0)]
    assert entropies == sorted(entropies, reverse=True)


def test_a_fixed_temperature_is_alpha_0():
    given = batch([1.0, 0.2, -0.4], [0.5, 0.1, -0.6], [0, 0, 0])
    fixed, adaptive = adpo(given, adaptive=False), adpo(given, alpha=0.0)
    assert fixed.value.item() == pytest.approx(adaptive.value.item(), abs=1e-15)


def test_at_the_anchor_the_loss_is_ln_g_and_the_gradient_a_weighted_reinforce():
    # (1/G - q) / (tau P) with P = 2 groups
    given = batch([0.0] * 4, [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    value = adpo(given, adaptive=False).value.item()
    assert value == pytest.approx(log(2), abs=1e-12)
    q = [target(torch.tensor(a, dtype=torch.float64), 0.5).tolist() for a in ([1.0, -1.0], [0.3, 0.0])]
    expected = [(0.5 - one) / (0.8 * 2) for group in q for one in group]
    assert gradient(given, adaptive=False) == pytest.approx(expected)


def test_the_loss_is_at_least_the_entropy_of_q_and_least_where_policy_is_anchor_times_q_to_tau():
    advantages = torch.tensor([1.0, -0.5, 0.2], dtype=torch.float64)
    q = target(advantages, 0.5)
    entropy = -(q * q.log()).sum().item()
    best = batch((0.8 * q.log()).tolist(), advantages.tolist(), [0] * 3)
    assert adpo(best, adaptive=False).value.item() == pytest.approx(entropy, abs=1e-12)
    assert gradient(best, adaptive=False) == pytest.approx([0.0] * 3, abs=1e-12)
    for seed in range(5):
        drifts = np.random.default_rng(seed).normal(size=3).tolist()
        other = adpo(batch(drifts, advantages.tolist(), [0] * 3), adaptive=False).value.item()
        assert other > entropy


def test_a_constant_added_to_a_groups_log_probabilities_changes_nothing():
    given = batch([0.5, -0.2, 0.1, 0.0], [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    moved = batch([3.5, 2.8, -1.9, -2.0], [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    assert adpo(moved).value.item() == pytest.approx(adpo(given).value.item())


def test_the_gradients_of_a_group_sum_to_0():
    given = batch([0.5, -0.2, 0.1, 0.0], [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    first, second, third, fourth = gradient(given)
    assert first + second == pytest.approx(0.0, abs=1e-15)
    assert third + fourth == pytest.approx(0.0, abs=1e-15)
    assert first != pytest.approx(0.0, abs=1e-3)


def test_equal_returns_pull_back_to_the_anchor_and_have_no_gradient_there():
    assert gradient(batch([0.0, 0.0], [0.0, 0.0], [0, 0])) == pytest.approx([0.0, 0.0], abs=1e-15)
    away = gradient(batch([1.0, 0.0], [0.0, 0.0], [0, 0]))
    assert away[0] > 0.1  # descent lowers the log-probability that had risen


def test_the_gradient_stays_bounded_far_from_the_anchor():
    far = gradient(batch([50.0, -50.0], [-1.0, 1.0], [0, 0]), adaptive=False)
    assert max(abs(one) for one in far) <= 1 / 0.8


def test_a_group_of_one_has_no_loss():
    assert adpo(batch([0.7], [0.0], [0])).value.item() == 0.0


def test_means_replace_sums_in_groups_with_a_long_episode():
    # 300 tokens of +0.01 against one of 0: u = 3 / tau, or 0.01 / tau
    lengths, width = [300, 1], 300
    given = batch_of(
        [[-1.0] * width, [-1.0] * width],
        [[column < length for column in range(width)] for length in lengths],
        old_logp=[[-1.01] * width, [-1.0] * width],
        advantage=[0.0, 0.0],
        group=[0, 0],
        unit=[0, 0],
    )
    spread = {
        kind: adpo(given, length_normalize=kind, adaptive=False).metrics["score_max"]
        for kind in ("never", "always", "long")
    }
    assert spread == pytest.approx({"never": 3 / 0.8, "always": 0.01 / 0.8, "long": 0.01 / 0.8})
    short = batch([1.0, 0.0], [0.0, 0.0], [0, 0])
    assert adpo(short).metrics["score_max"] == adpo(short, length_normalize="never").metrics["score_max"]


def test_the_divergence_is_a_token_mean_by_hand():
    # d = old - logp = -1 and 0: (e^-1 + 1 - 1) / 2
    given = batch([1.0, 0.0], [0.0, 0.0], [0, 0])
    plain, with_divergence = adpo(given), adpo(given, kl_coef=0.5)
    assert plain.metrics["k3"] == pytest.approx(exp(-1) / 2)
    assert (with_divergence.value - plain.value).item() == pytest.approx(0.5 * exp(-1) / 2)
    assert k3(torch.tensor([1e4])).isfinite().all()


def test_advantages_by_hand():
    # group a: 1, 0: mean 0.5, std (ddof 1) sqrt(0.5); group b: 0.2, 0.2
    returns, groups = [1.0, 0.0, 0.2, 0.2], ["a", "a", "b", "b"]
    rollouts = rollouts_of(returns, [[1]] * 4, groups)

    def of(scale: Scale) -> list[float]:
        return advantage(rollouts, scale_rewards=scale).advantage.tolist()

    assert of("group") == pytest.approx([0.5**0.5, -(0.5**0.5), 0.0, 0.0])
    assert of("none") == [0.5, -0.5, 0.0, 0.0]
    everything = np.std(returns, ddof=1)
    assert of("batch") == pytest.approx([0.5 / everything, -0.5 / everything, 0.0, 0.0])
    assert advantage(rollouts).metrics == {"groups_without_variance": 0.5}


def test_failures_that_repeat_themselves_earn_less_as_in_the_original():
    rollouts = replace(rollouts_of([1.0, 0.0, 0.0], [[1]] * 3, ["a"] * 3), repeated=np.array([1.0, 0.0, 0.2]))
    found = advantage(rollouts, scale_rewards="none", repetition_penalty=0.05).advantage
    earned = np.array([1.0, 0.0, -0.01])  # 1 for success, and -0.05 times the share for a failure
    assert found.tolist() == pytest.approx((earned - earned.mean()).tolist())
    assert found[1] > found[2]
    plain = advantage(rollouts, scale_rewards="none").advantage
    assert plain[1] == plain[2]


def test_rounding_is_no_variance():
    # 0.1 + 0.2 is not 0.3; divided by the epsilon, the difference would pass for a preference
    rollouts = rollouts_of([0.1 + 0.2, 0.3, 0.3], [[1]] * 3, ["a"] * 3)
    assert advantage(rollouts).advantage.tolist() == [0.0, 0.0, 0.0]


def test_a_groups_shift_and_scale_leave_q_unchanged_if_it_is_renormalised():
    rewards = torch.tensor([1.0, 0.2, 0.5], dtype=torch.float64)
    q = target(rewards, 0.5, renormalize=True)
    moved = target(7 * rewards - 3, 0.5, renormalize=True)
    assert moved.tolist() == pytest.approx(q.tolist(), abs=1e-7)  # the epsilon below the scale
    assert target(7 * rewards, 0.5).tolist() != pytest.approx(target(rewards, 0.5).tolist(), abs=1e-2)


def test_scaling_has_an_effect_unless_q_is_renormalised():
    rollouts = rollouts_of([1.0, 0.0], [[1]] * 2, ["a", "a"])

    def loss(scale: Scale, renormalize: bool) -> float:
        given = advantage(rollouts, scale_rewards=scale).advantage.tolist()
        return adpo(batch([0.3, 0.0], given, [0, 0]), renormalize_q=renormalize).value.item()

    assert loss("none", False) != pytest.approx(loss("group", False), abs=1e-3)
    assert loss("none", True) == pytest.approx(loss("group", True), abs=1e-6)


def test_what_leaves_the_batch():
    returns, groups = [0.0, -0.05, 1.0, 1.0, 0.5, 0.0], list("aabbcc")
    assert weigh(returns, groups).tolist() == [1] * 6
    assert weigh(returns, groups, drop_all_failed=True).tolist() == [0, 0, 1, 1, 1, 1]
    assert weigh(returns, groups, skip_zero_variance=True).tolist() == [1, 1, 0, 0, 1, 1]


def test_a_batch_without_a_group_has_no_loss():
    empty = batch_of([[-1.0]], [[0]], old_logp=[-1.0], advantage=[0.0])
    assert adpo(empty).value.item() == 0.0


def test_a_part_of_a_group_is_refused():
    given = batch([0.5, -0.2, 0.1, 0.0], [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="the batch has a part of one"):
        adpo(part_of(given, [0, 2, 3]))


def test_groups_may_differ_in_size_and_lie_anywhere():
    given = batch([0.5, -0.2, 0.1, 0.0, 0.3], [1.0, -1.0, 0.3, 0.0, -0.3], [4, 7, 4, 7, 7])
    one = adpo(part_of(given, [0, 2])).value
    other = adpo(part_of(given, [1, 3, 4])).value
    assert (one + other).item() == pytest.approx(adpo(given).value.item())


def test_metrics_of_micro_batches_add_up_or_combine_by_maximum():
    given = batch([0.5, -0.2, 0.1, 0.0], [1.0, -1.0, 0.3, 0.0], [0, 0, 1, 1])
    parts = [adpo(part_of(given, [0, 1])).metrics, adpo(part_of(given, [2, 3])).metrics]
    for name, value in adpo(given).metrics.items():
        combined = max if name.endswith("_max") else sum
        assert combined(part[name] for part in parts) == pytest.approx(value), name
    assert adpo(given).metrics["groups"] == 2
    assert adpo(given).metrics["drift"] == pytest.approx(0.2)


def test_advantages_are_without_gradient():
    given = batch([0.5, -0.2], [1.0, -1.0], [0, 0])
    leaf = given.advantage.clone().requires_grad_()
    value = adpo(replace(given, advantage=leaf)).value
    assert torch.autograd.grad(value, leaf, allow_unused=True) == (None,)


def test_options_of_the_adaptive_temperature_are_refused_without_it():
    for option in ("alpha", "tau_min"):
        with pytest.raises(ConfigError, match=f"'{option}' of adpo has no effect"):
            objective("adpo", {"adaptive": False, option: 0.3})


def test_the_papers_temperature_grows_with_doubt_and_with_failure_by_hand():
    # q = (2/3, 1/3): h = 0.9183; mean return 0.25: 0.8 (1 + 0.5 h + 0.5 (1 - h) 0.75) = 1.1918
    given = replace(batch([0.0] * 2, [log(2), 0.0], [0, 0]), reward=torch.tensor([0.5, 0.0]))
    found = adpo(given, beta_reward=1.0, temperature="difficulty").metrics["tau"]
    assert found == pytest.approx(0.8 * (1 + 0.5 * 0.918296 + 0.5 * 0.081704 * 0.75), abs=1e-5)
    easier = replace(given, reward=torch.tensor([1.0, 1.0]))
    assert adpo(easier, beta_reward=1.0, temperature="difficulty").metrics["tau"] < found
    bounded = adpo(given, beta_reward=1.0, temperature="difficulty", tau_max=1.1)
    assert bounded.metrics["tau"] == pytest.approx(1.1)


def test_one_temperature_for_a_batch_is_that_of_its_mean_entropy_by_hand():
    # q = (2/3, 1/3) with H / ln 2 = 0.918296, and (1/2, 1/2) with 1: mean 0.959148
    given = batch([1.0, 0.0, 0.0, 0.0], [log(2), 0.0, 0.0, 0.0], [0, 0, 1, 1])
    options: dict[str, Any] = {"beta_reward": 1.0, "temperature": "batch"}
    found = adpo(given, **options)
    tau = 0.8 * (1 - 0.5 * 0.959148)
    assert found.metrics["tau"] == pytest.approx(tau, abs=1e-6)
    assert found.metrics["score_max"] == pytest.approx(1 / tau, abs=1e-5)
    # each for itself, the first group has a higher temperature than the second
    by_group = [adpo(part_of(given, pair), beta_reward=1.0).metrics["tau"] for pair in ([0, 1], [2, 3])]
    assert 2 * by_group[0] > tau > 2 * by_group[1]  # of two groups in the batch
    assert adpo(given, **options, tau_min=0.6).metrics["tau"] == pytest.approx(0.6)
    assert adpo(given, **options, alpha=0.0).metrics["tau"] == pytest.approx(0.8)


def test_one_temperature_for_a_batch_needs_the_whole_batch():
    given = batch([1.0, 0.0, 0.0, 0.0], [log(2), 0.0, 0.0, 0.0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="needs all of its 2 groups at once"):
        adpo(part_of(given, [0, 1]), temperature="batch")
    assert objective("adpo", {"temperature": "batch"}).algorithm.together == "batch"
    assert objective("adpo").algorithm.together == "unit"


def test_the_later_codes_settings_by_hand():
    # means of two tokens: log-ratios 0.6 and -7, cut to -5. q of 0.3 ln 2 over 0.3 is (2/3, 1/3):
    # tau = 0.8 (1 - 0.5 * 0.918296) = 0.432682; scores 1.386701, and -11.6 cut to -10
    given = batch_of(
        [[-8.0, -8.0], [-15.0, -15.0]],
        [[1, 1], [1, 1]],
        old_logp=[-8.6, -8.0],
        advantage=[0.3 * log(2), 0.0],
        group=[0, 0],
        unit=[0, 0],
    )
    options: dict[str, Any] = {
        "form": "plackett_luce",
        "temperature": "batch",
        "beta_reward": 0.3,
        "length_normalize": "always",
        "drift_limit": 5.0,
        "score_limit": 10.0,
    }
    found = objective("adpo", options).loss(given)
    assert found.metrics["tau"] == pytest.approx(0.432682, abs=1e-6)
    assert found.metrics["score_max"] == 10.0
    assert found.value.item() == pytest.approx(log(1 + exp(-10 - 0.6 / 0.432682)), abs=1e-9)
    for change in ({"drift_limit": 3.0}, {"score_limit": 0.0}, {"beta_reward": 0.9}):
        other = objective("adpo", {**options, **change}).loss(given).value.item()
        assert other != pytest.approx(found.value.item(), rel=1e-3), change


def test_places_by_hand():
    # u = ln 3, 0, ln 2 with returns falling in this order: p = 3/6 and then 1/3
    given = batch([0.8 * log(3), 0.0, 0.8 * log(2)], [1.0, 0.0, -1.0], [0, 0, 0])
    options: dict[str, Any] = {"form": "plackett_luce", "adaptive": False}
    assert adpo(given, **options).value.item() == pytest.approx((log(2) + log(3)) / 2, abs=1e-12)
    assert adpo(given, **options, top_k=1).value.item() == pytest.approx(log(2), abs=1e-12)
    other = batch([0.8 * log(3), 0.0, 0.8 * log(2)], [0.0, 1.0, -1.0], [0, 0, 0])
    assert adpo(other, **options).value.item() != pytest.approx((log(2) + log(3)) / 2, abs=1e-2)


def test_equal_returns_do_not_compete_for_places():
    given = batch([1.0, 0.0], [0.0, 0.0], [0, 0])
    options: dict[str, Any] = {"form": "plackett_luce", "adaptive": False}
    assert adpo(given, **options).value.item() == 0.0
    assert gradient(given, **options) == [0.0, 0.0]


def test_limits_cut_before_and_after_the_division_by_the_temperature():
    # log-ratios 3 and 0: cut to 2, over 0.5 is 4, cut to 3
    given = batch([3.0, 0.0], [log(2), 0.0], [0, 0])
    options: dict[str, Any] = {"beta_reward": 1.0, "tau": 0.5, "adaptive": False}
    assert adpo(given, **options).metrics["score_max"] == pytest.approx(6.0)
    assert adpo(given, **options, drift_limit=2.0).metrics["score_max"] == pytest.approx(4.0)
    cut = {**options, "drift_limit": 2.0, "score_limit": 3.0}
    assert adpo(given, **cut).metrics["score_max"] == pytest.approx(3.0)
    assert gradient(given, **cut)[0] == 0.0


@pytest.mark.parametrize("option", ["beta_reward", "renormalize_q", "scale_rewards"])
def test_settings_of_q_are_refused_where_nothing_reads_it(option: str):
    value = {"beta_reward": 0.3, "renormalize_q": True, "scale_rewards": "none"}[option]
    options: dict[str, Any] = {"form": "plackett_luce", "adaptive": False, option: value}
    message = f"'{option}' of adpo has no effect: 'form' is 'plackett_luce', not 'listwise' and 'adaptive'"
    with pytest.raises(ConfigError, match=message):
        objective("adpo", options)
    assert objective("adpo", {**options, "adaptive": True}).options[option] == value
