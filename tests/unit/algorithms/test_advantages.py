"""Advantages of groups and of whole updates, by hand, and what leaves them as they are."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf, nan, sqrt

import numpy as np
import pytest
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Advantages, Rollouts
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.advantages.baselines import (
    grouped,
    grpo,
    reinforce_pp,
    reinforce_pp_baseline,
    rloo,
    whitened,
)

# Returns [1, 0, 0.5] of group a and [3, 1] of group b; two tokens, then one, two, one, two.
RETURNS = [1.0, 0.0, 0.5, 3.0, 1.0]
MASK = [[1, 0, 1], [0, 1, 0], [1, 1, 0], [1, 0, 0], [0, 1, 1]]
GROUPS = ["a", "a", "a", "b", "b"]


def rollouts(returns: Sequence[float] = RETURNS, groups: Sequence[str] = GROUPS) -> Rollouts:
    return rollouts_of(returns, MASK[: len(returns)], groups)


def dr_grpo(given: Rollouts, **options) -> Advantages:
    return grpo(given, scale_rewards="none", **options)


def by_episode(found: Advantages, given: Rollouts) -> list[float]:
    """One number for each episode, whose tokens must agree."""
    values = [found.advantage[given.sequence == number] for number in range(len(given.group))]
    assert all((value == value[0]).all() for value in values)
    return [value[0] for value in values]


# deviations from the means 0.5 and 2: [0.5, -0.5, 0] and [1, -1]
# a: sample deviation sqrt(0.5 / 2) = 0.5, b: sqrt(2 / 1)
EXPECTED: dict[str, tuple[Callable[..., Advantages], dict, list[float]]] = {
    "grpo": (grpo, {"epsilon": 0.0}, [1, -1, 0, 1 / sqrt(2), -1 / sqrt(2)]),
    "epsilon": (grpo, {"epsilon": 0.5}, [0.5, -0.5, 0, 1 / (sqrt(2) + 0.5), -1 / (sqrt(2) + 0.5)]),
    "ddof 0": (grpo, {"epsilon": 0.0, "ddof": 0}, [0.5 * sqrt(6), -0.5 * sqrt(6), 0, 1, -1]),
    "batch": (  # mean 1.1: squares 0.01 + 1.21 + 0.36 + 3.61 + 0.01 = 5.2, over 4
        grpo,
        {"epsilon": 0.0, "scale_rewards": "batch"},
        [0.5 / sqrt(1.3), -0.5 / sqrt(1.3), 0, 1 / sqrt(1.3), -1 / sqrt(1.3)],
    ),
    "dr_grpo": (dr_grpo, {}, [0.5, -0.5, 0, 1, -1]),
    "rloo": (rloo, {}, [0.75, -0.75, 0, 2, -2]),  # 1 - (0 + 0.5) / 2, ..., 3 - 1
}
CENTRED = {"grpo": grpo, "dr_grpo": dr_grpo, "rloo": rloo}


@pytest.mark.parametrize("name", EXPECTED)
def test_advantages_of_groups(name: str):
    function, options, expected = EXPECTED[name]
    found = by_episode(function(rollouts(), **options), rollouts())
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_oracle_notices_another_return_or_group(name: str):
    function, options, expected = EXPECTED[name]
    for other in (rollouts([1.0, 0.1, 0.5, 3.0, 1.0]), rollouts(groups=["a", "a", "b", "b", "b"])):
        assert by_episode(function(other, **options), other) != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("name", CENTRED)
def test_the_advantages_of_a_group_sum_to_zero(name: str):
    found = by_episode(CENTRED[name](rollouts()), rollouts())
    assert sum(found[:3]) == pytest.approx(0, abs=1e-12)
    assert sum(found[3:]) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", CENTRED)
def test_a_constant_added_to_a_group_changes_nothing(name: str):
    shifted = rollouts(
        [value + (7 if group == "a" else -2) for value, group in zip(RETURNS, GROUPS, strict=True)]
    )
    expected = CENTRED[name](rollouts()).advantage
    assert CENTRED[name](shifted).advantage.tolist() == pytest.approx(expected.tolist(), abs=1e-12)


def test_a_factor_cancels_where_the_deviation_divides_and_stays_elsewhere():
    larger = rollouts([1000 * value for value in RETURNS])
    for function, factor in ((grpo, 1), (dr_grpo, 1000), (rloo, 1000), (reinforce_pp_baseline, 1)):
        expected = factor * function(rollouts()).advantage
        # epsilon 1e-6 beside a deviation of 0.5 is 2e-6
        assert function(larger).advantage.tolist() == pytest.approx(expected.tolist(), rel=3e-6, abs=1e-9)


@pytest.mark.parametrize("name", CENTRED)
def test_names_and_order_of_groups_do_not_matter(name: str):
    expected = by_episode(CENTRED[name](rollouts()), rollouts())
    renamed = rollouts(groups=["z", "z", "z", "b", "b"])
    assert by_episode(CENTRED[name](renamed), renamed) == expected
    order = [3, 0, 4, 2, 1]
    shuffled = rollouts([RETURNS[each] for each in order], [GROUPS[each] for each in order])
    found = by_episode(CENTRED[name](shuffled), shuffled)
    assert found == pytest.approx([expected[each] for each in order], abs=1e-15)


@pytest.mark.parametrize(("singleton", "expected"), [("zero", 0.0), ("raw", 0.8)])
def test_a_group_of_one_has_no_baseline(singleton: str, expected: float):
    alone = rollouts([1.0, 0.0, 0.8], ["a", "a", "b"])
    for function in (dr_grpo, rloo):
        assert by_episode(function(alone, singleton=singleton), alone)[2] == expected
    # verl's GRPO: mean 0 and deviation 1, so R / (1 + epsilon)
    found = by_episode(grpo(alone, singleton=singleton), alone)[2]
    assert found == pytest.approx(expected / (1 + 1e-6), abs=1e-12)
    white = reinforce_pp_baseline(alone, singleton=singleton).advantage
    assert (white[-1] > white[0]) == (singleton == "raw")  # 0.8 or 0 beside the first's 0.5


@pytest.mark.parametrize("name", [*CENTRED, "reinforce_pp_baseline"])
@pytest.mark.parametrize("noise", [0.0, 3e-9])
def test_equal_returns_give_exactly_nothing(name: str, noise: float):
    # sums of rewards in another order differ by rounding, which epsilon 1e-12 would blow up
    function = {**CENTRED, "reinforce_pp_baseline": reinforce_pp_baseline}[name]
    equal = rollouts([0.3, 0.3 + noise, 0.3], ["a", "a", "a"])
    options = {"epsilon": 1e-12} if name == "grpo" else {}
    assert (function(equal, **options).advantage == 0).all()
    assert (function(rollouts([0.3, 0.3001, 0.3], ["a"] * 3), **options).advantage != 0).any()


@pytest.mark.parametrize("function", [grpo, dr_grpo, rloo, reinforce_pp, reinforce_pp_baseline])
@pytest.mark.parametrize("scale", [0.0, 1.0, 1e6, -1e6])
def test_extreme_returns_stay_finite(function: Callable[..., Advantages], scale: float):
    assert np.isfinite(function(rollouts([scale * value for value in RETURNS])).advantage).all()
    assert np.isfinite(function(rollouts([scale], ["a"])).advantage).all()
    assert np.isfinite(grpo(rollouts([scale] * 3, ["a", "b", "c"]), scale_rewards="batch").advantage).all()


def test_a_scale_over_the_update_that_nothing_varies_in_does_not_divide():
    raw = {"scale_rewards": "batch", "singleton": "raw"}
    alike = rollouts([0.5, 0.5], ["a", "b"])
    assert by_episode(grpo(alike, **raw), alike) == [0.5, 0.5]


def test_reinforce_pp_discounts_learnt_tokens_and_whitens_the_update():
    # rewards at the last tokens: 1 after 2 tokens, 4 at 1; gamma 0.5: to go [0.5, 1, 4]
    # mean 11/6; squares 16/9 + 25/36 + 169/36 = 258/36, variance over 2: 129/36
    given = rollouts_of([1.0, 4.0], [[1, 0, 1], [0, 1, 0]], ["a", "b"])
    expected = [(value - 11 / 6) / sqrt(129 / 36 + 1e-8) for value in (0.5, 1, 4)]
    assert reinforce_pp(given, gamma=0.5).advantage.tolist() == pytest.approx(expected, abs=1e-12)
    assert reinforce_pp(given).advantage.tolist() != pytest.approx(expected, abs=1e-3)


def test_reinforce_pp_baseline_whitens_over_tokens():
    # centred [0.5, -0.5], of two tokens and one: mean 1/6, squares 2/9 + 4/9 = 2/3, over 2
    given = rollouts_of([1.0, 0.0], [[1, 1], [1, 0]], ["a", "a"])
    expected = [1 / 3 / sqrt(1 / 3 + 1e-8), 1 / 3 / sqrt(1 / 3 + 1e-8), -2 / 3 / sqrt(1 / 3 + 1e-8)]
    assert reinforce_pp_baseline(given).advantage.tolist() == pytest.approx(expected, abs=1e-12)


def test_one_token_alone_is_whitened_to_nothing():
    assert whitened(np.array([5.0])).tolist() == [0]
    assert whitened(np.array([5.0, 5.0])).tolist() == [0, 0]


@pytest.mark.parametrize(("bad", "text"), [(nan, "nan"), (inf, "inf"), (-inf, "-inf")])
@pytest.mark.parametrize("name", ["dapo", "grpo", "ppo", "reinforce_pp", "rloo"])
def test_a_return_that_nobody_knows_is_an_error_that_names_it(name: str, bad: float, text: str):
    given = rollouts([1.0, bad, 0.5, 3.0, 1.0])
    with pytest.raises(ConfigError, match=f"return of episode 1 of group 'a' is {text}; leave out"):
        objective(name, {"kl_coef": 0.0}).advantage(given)


def test_a_divergence_in_the_reward_is_the_difference_to_the_reference():
    # one token each: returns 1 - 0.5 * (-1 + 3) = 0 and 0 - 0.5 * (-1 + 1) = 0
    given = replace(
        rollouts_of([1.0, 0.0], [[1], [1]], ["a", "a"]),
        old_logp=np.array([-1.0, -1.0]),
        ref_logp=np.array([-3.0, -1.0]),
    )
    advantage = objective("rloo", {"kl_coef": 0.5}).advantage
    assert advantage(given).advantage.tolist() == [0, 0]
    assert objective("rloo", {"kl_coef": 0.25}).advantage(given).advantage.tolist() == [0.5, -0.5]
    in_the_loss = objective("rloo", {"kl_coef": 0.5, "kl": "k3"}).advantage
    assert in_the_loss(given).advantage.tolist() == [1, -1]


def test_figures_of_an_update():
    # groups a: 1, 0; b: 0, 0; c: 1, 1; d: 0.5 alone. One token each
    given = rollouts_of([1, 0, 0, 0, 1, 1, 0.5], [[1]] * 7, ["a", "a", "b", "b", "c", "c", "d"])
    found = objective("dr_grpo").advantage(given).metrics
    assert found == {
        "adv_mean": 0,
        "adv_std": pytest.approx(sqrt(0.5 / 7)),
        "adv_min": -0.5,
        "adv_max": 0.5,
        "reward_mean": 0.5,
        "reward_std": pytest.approx(sqrt((6 * 0.25) / 7)),
        "frac_zero_std_groups": 0.5,  # b and c
        "frac_groups_all_fail": 0.25,
        "frac_groups_all_pass": 0.25,
        "groups_of_1": 1,
        "groups_of_2": 3,
    }


def test_returns_are_told_by_environment_where_there_are_several():
    given = rollouts_of([1, 0, 0.25], [[1]] * 3, ["a", "a", "b"])
    several = replace(given, environment=["guess", "guess", "webshop"])
    found = objective("grpo", {"kl_coef": 0.0}).advantage(several).metrics
    assert {name: value for name, value in found.items() if name.startswith("return_")} == {
        "return_guess": 0.5,
        "return_webshop": 0.25,
    }
    for one in (given, replace(given, environment=["guess"] * 3)):
        assert not any(name.startswith("return_") for name in objective("dr_grpo").advantage(one).metrics)


def test_statistics_of_groups():
    found = grouped(np.array(RETURNS), GROUPS)
    assert found.number.tolist() == [0, 0, 0, 1, 1]
    assert found.mean.tolist() == [0.5, 2]
    assert found.spread.tolist() == [1, 2]
    assert found.deviation(1).tolist() == pytest.approx([0.5, sqrt(2)])


def test_a_mean_by_seat_replaces_that_of_the_group():
    given = replace(rollouts(), baseline=np.array([0.25, 0.25, nan, 2.0, 2.0]))
    expected = [0.75, -0.25, 0, 1, -1]  # the third is the first of its seat
    assert by_episode(dr_grpo(given, baseline="seat"), given) == pytest.approx(expected)
    assert by_episode(rloo(given, baseline="seat"), given) == pytest.approx(expected)
    scaled = grpo(given, baseline="seat", scale_rewards="batch", epsilon=0.0)
    assert by_episode(scaled, given) == pytest.approx([one / sqrt(1.3) for one in expected])
    tokens = np.array([0.75, 0.75, -0.25, 0, 0, 1, -1, -1])
    found = reinforce_pp_baseline(given, baseline="seat").advantage
    assert found == pytest.approx((tokens - tokens.mean()) / sqrt(tokens.var(ddof=1) + 1e-8))
    assert by_episode(dr_grpo(given), given) != pytest.approx(expected, abs=0.1)


def test_samples_that_all_win_have_a_signal_by_seat_and_none_in_their_group():
    won = replace(rollouts([1.0, 1.0, 1.0], ["a"] * 3), baseline=np.array([0.5, 0.5, 0.5]))
    assert by_episode(dr_grpo(won, baseline="seat"), won) == [0.5, 0.5, 0.5]
    assert by_episode(dr_grpo(won), won) == [0, 0, 0]


def test_a_mean_by_seat_has_to_be_there():
    with pytest.raises(ConfigError, match="needs episodes with a baseline"):
        dr_grpo(rollouts(), baseline="seat")
