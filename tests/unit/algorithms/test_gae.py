"""Generalised advantage estimation, by hand."""

from typing import Any

import numpy as np
import pytest
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Rollouts
from agentevol.learn.algorithms.advantages.gae import explained_variance, gae, returns_to_go
from agentevol.learn.algorithms.policy_gradient.ppo import ppo_advantages
from agentevol.learn.algorithms.testing import example_rollouts

# Three tokens, of the turns 0, 0, 1; reward 2 after the first turn and 1 after the second.
REWARD = [[0.0, 2.0, 1.0]]
VALUE = [[0.5, 1.0, 0.25]]


def rollouts(**changes: Any) -> Rollouts:
    given = {"reward": REWARD, "mask": [[1, 1, 1]], "group": ["a"], "value": VALUE, "step": [[0, 0, 1]]}
    return rollouts_of(**{**given, **changes})


def advantages(**options: Any) -> list[float]:
    return gae(rollouts(), **options).advantage.tolist()


def test_with_lambda_and_gamma_one_it_is_the_return_to_come_less_the_value():
    # to come [3, 3, 1]
    assert advantages() == [2.5, 2, 0.75]
    assert gae(rollouts()).target.tolist() == [3, 3, 1]


def test_with_lambda_zero_it_is_the_difference_to_the_next_value():
    # 0 + 0.5 * 1 - 0.5, 2 + 0.5 * 0.25 - 1, 1 + 0 - 0.25
    assert advantages(gamma=0.5, gae_lambda=0.0) == [0, 1.125, 0.75]


def test_differences_are_summed_with_gamma_lambda():
    # differences [0, 1.125, 0.75] as above; factor 0.5 * 0.5
    assert advantages(gamma=0.5, gae_lambda=0.5) == [1.3125 / 4, 1.3125, 0.75]


def test_turns_discount_at_their_borders_only():
    # to come [2 + 0.5, 2 + 0.5, 1]
    assert advantages(turn_discount=0.5) == [2, 1.5, 0.75]
    # with gamma too, a border has both: [0.5 * (2 + 0.25), 2 + 0.25, 1]
    assert advantages(turn_discount=0.5, gamma=0.5) == [0.625, 1.25, 0.75]


def test_a_turn_can_be_one_step():
    # turns of rewards 2 and 1, values 0.5 and 0.25; discount 0.5, lambda 0.5:
    # 1 - 0.25 = 0.75; 2 + 0.5 * 0.25 - 0.5 + 0.25 * 0.75 = 1.8125
    found = gae(rollouts(), turn_gae=True, turn_discount=0.5, gae_lambda=0.5)
    assert found.advantage.tolist() == [1.8125, 1.8125, 0.75]
    assert found.target.tolist() == [2.3125, 2.3125, 1]


def test_turns_of_one_token_are_tokens():
    each = rollouts(step=[[0, 1, 2]])
    by_token = gae(each, gamma=0.9, gae_lambda=0.8)
    by_turn = gae(each, turn_discount=0.9, gae_lambda=0.8, turn_gae=True)
    assert by_turn.advantage.tolist() == pytest.approx(by_token.advantage.tolist(), abs=1e-15)


def test_the_end_of_the_world_is_worth_nothing_and_a_limit_the_value_of_the_last_state():
    # ended: to come [3, 3, 1]; cut off: 4 more, discounted
    cut = rollouts(truncated=[True], final_value=[4.0])
    assert gae(cut).target.tolist() == [7, 7, 5]
    assert gae(cut, gamma=0.5).target.tolist() == [0.5 * (2 + 0.5 * 3), 2 + 0.5 * 3, 3]
    assert gae(cut, gae_lambda=0.0).target.tolist() == [1, 2.25, 5]
    assert gae(cut, turn_gae=True).target.tolist() == [7, 7, 5]
    assert gae(cut, turn_gae=True, turn_discount=0.0).target.tolist() == [2, 2, 1]
    ended = rollouts(final_value=[4.0])
    assert gae(ended).target.tolist() == [3, 3, 1]


def test_each_episode_goes_on_with_its_own_last_state():
    two = rollouts_of(
        [[1.0], [1.0], [1.0]],
        [[1]] * 3,
        ["a"] * 3,
        value=[[0.0]] * 3,
        truncated=[True, False, True],
        final_value=[2.0, 3.0, 5.0],
    )
    assert gae(two).target.tolist() == [3, 1, 6]


def test_what_the_world_says_takes_no_part():
    apart = rollouts_of(
        [[0.0, 9.0, 2.0, 9.0, 1.0]],
        [[1, 0, 1, 0, 1]],
        ["a"],
        value=[[0.5, 9.0, 1.0, 9.0, 0.25]],
        step=[[0, 0, 0, 0, 1]],
    )
    options = {"gamma": 0.9, "gae_lambda": 0.8, "turn_discount": 0.7}
    assert gae(apart, **options).advantage.tolist() == gae(rollouts(), **options).advantage.tolist()


def test_episodes_do_not_reach_into_each_other():
    two = rollouts_of(
        [*REWARD, [5.0, 0.0, 0.0]],
        [[1, 1, 1], [1, 0, 0]],
        ["a", "b"],
        value=[*VALUE, [2.0, 0.0, 0.0]],
        step=[[0, 0, 1], [2, 2, 2]],
    )
    for options in ({}, {"turn_gae": True}, {"gamma": 0.5, "gae_lambda": 0.3}):
        alone = gae(rollouts(), **options).advantage.tolist()
        assert gae(two, **options).advantage.tolist() == [*alone, 3]


def test_exact_values_of_a_deterministic_chain_leave_nothing():
    # values are what is to come with gamma 0.5: 0.5 * 2.5 = 1.25, 2 + 0.5 = 2.5, 1
    exact = rollouts(value=[[1.25, 2.5, 1.0]])
    for gae_lambda in (0.0, 0.3, 1.0):
        assert gae(exact, gamma=0.5, gae_lambda=gae_lambda).advantage.tolist() == [0, 0, 0]


def test_without_values_a_final_reward_is_every_tokens_advantage():
    given = rollouts(reward=[0.7], value=[[0.0, 0.0, 0.0]])
    assert gae(given).advantage.tolist() == [0.7, 0.7, 0.7]
    assert returns_to_go(given, 1.0).tolist() == [0.7, 0.7, 0.7]
    assert returns_to_go(given, 0.5).tolist() == pytest.approx([0.175, 0.35, 0.7])


def test_ppo_whitens_the_advantages_but_not_the_targets():
    given = example_rollouts(0)
    raw, white = gae(given), ppo_advantages(given)
    assert white.advantage.mean() == pytest.approx(0, abs=1e-12)
    assert white.advantage.var(ddof=1) == pytest.approx(1, abs=1e-6)
    assert white.target.tolist() == raw.target.tolist()
    expected = (raw.advantage - raw.advantage.mean()) / raw.advantage.std(ddof=1)
    assert white.advantage.tolist() == pytest.approx(expected.tolist(), abs=1e-6)


def test_explained_variance_is_one_for_a_perfect_critic_and_zero_for_a_constant_one():
    target = np.array([1.0, 2.0, 6.0])
    assert explained_variance(target, target) == {"explained_variance": 1}
    assert explained_variance(np.full(3, 9.0), target) == {"explained_variance": 0}
    assert explained_variance(target, np.full(3, 9.0)) == {}
    assert gae(rollouts()).metrics["explained_variance"] == pytest.approx(
        # targets [3, 3, 1] less values: [2.5, 2, 0.75], variance 0.541667; targets' 8/9
        1 - np.var([2.5, 2, 0.75]) / (8 / 9)
    )
