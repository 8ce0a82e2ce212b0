"""GiGPO by hand: two episodes of one task, three states."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentevol.core.algorithms.contract import Rollouts, Steps
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.advantages.turn_level import relative, states, turn_returns, turn_rewards
from agentevol.learn.algorithms.policy_gradient.gigpo import gigpo_advantage

# An episode that wins in three turns and one that loses in two; both begin at the door. Discount 1/2:
#
#   sequence  anchor  reward  return to go
#      0      door      0     0 + 0.5 * (0 + 0.5 * 1) = 0.25
#      0      hall      0     0.5
#      0      safe      1     1
#      1      door      0     0
#      1      hall      0     0
#
# Episode part, mean_norm: returns 1 and 0, mean 0.5: +0.5 and -0.5.
# Turn part, mean_norm: door 0.25 and 0, mean 0.125; hall 0.5 and 0, mean 0.25; safe is alone: 0.
CASE: dict[str, Any] = {
    "sequence": [0, 0, 0, 1, 1],
    "reward": [0.0, 0.0, 1.0, 0.0, 0.0],
    "anchor": ["door", "hall", "safe", "door", "hall"],
    "group": ["a", "a"],
}
PLAIN: dict[str, Any] = {"normalise": "mean_norm", "gamma": 0.5}
EXPECTED = [0.5 + 0.125, 0.5 + 0.25, 0.5, -0.5 - 0.125, -0.5 - 0.25]


def rollouts_of_turns(
    sequence: list[int],
    reward: list[float],
    anchor: list[str],
    group: list[str],
    invalid: list[bool] | None = None,
    tokens: int = 1,
) -> Rollouts:
    """Each turn has `tokens` learnt tokens, its reward at the last of them."""
    count = len(sequence)
    numbers = np.array(sequence, dtype=np.int64)
    rewards = np.array(reward, dtype=np.float64)
    at_tokens = np.zeros((count, tokens))
    at_tokens[:, -1] = rewards
    return Rollouts(
        sequence=numbers.repeat(tokens),
        step=np.arange(count).repeat(tokens),
        reward=at_tokens.ravel(),
        group=group,
        truncated=np.zeros(len(group), dtype=np.bool_),
        costs={},
        steps=Steps(
            sequence=numbers,
            turn=np.array([sequence[:row].count(sequence[row]) for row in range(count)]),
            reward=rewards,
            anchor=anchor,
            mode=np.zeros(count, dtype=np.int64),
            tokens=np.full(count, tokens),
            invalid=np.array(invalid or [False] * count),
        ),
    )


def advantages(case: dict[str, Any] = CASE, **options: Any) -> list[float]:
    return gigpo_advantage(rollouts_of_turns(**case), **{**PLAIN, **options}).advantage.tolist()


def test_an_advantage_is_the_episodes_plus_the_turns():
    assert advantages() == pytest.approx(EXPECTED, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "options"),
    [
        ({"reward": [0.0, 0.5, 1.0, 0.0, 0.0]}, {}),
        ({"anchor": ["door", "hall", "safe", "door", "cellar"]}, {}),
        ({"group": ["a", "b"]}, {}),  # no leakage: groups that are merged give other results
        ({"sequence": [0, 0, 0, 0, 1]}, {}),
        ({}, {"gamma": 0.6}),
        ({}, {"step_weight": 0.9}),
        ({}, {"statistics": "over_steps"}),
        ({}, {"normalise": "mean_std_norm"}),
    ],
)
def test_the_oracle_notices_a_change(change: dict[str, Any], options: dict[str, Any]):
    assert advantages({**CASE, **change}, **options) != pytest.approx(EXPECTED, abs=1e-3)


def test_statistics_over_turns_count_long_episodes_more():
    # returns by turn 1, 1, 1, 0, 0: mean 3/5, so +2/5 and -3/5
    got = advantages(statistics="over_steps", step_weight=0.0)
    assert got == pytest.approx([0.4, 0.4, 0.4, -0.6, -0.6], abs=1e-12)


def test_deviations_divide_with_one_degree_of_freedom_less():
    # 1 and 0: deviation sqrt(2 * 0.25 / 1) = 0.7071, so 0.5 / 0.7071 = 0.7071
    # door 0.25 and 0 gives 0.7071, too, and so does hall; safe is alone
    half = 0.5**0.5
    got = advantages(normalise="mean_std_norm")
    assert got == pytest.approx([2 * half, 2 * half, half, -2 * half, -2 * half], abs=1e-5)  # epsilon 1e-6


def test_weight_0_and_states_that_never_recur_leave_the_episodes_part():
    episodes = [0.5, 0.5, 0.5, -0.5, -0.5]
    assert advantages(step_weight=0.0) == episodes
    assert advantages({**CASE, "anchor": ["a", "b", "c", "d", "e"]}) == episodes


def test_the_turns_of_a_state_cancel():
    got = np.array(advantages()) - [0.5, 0.5, 0.5, -0.5, -0.5]
    assert (got[0] + got[3], got[1] + got[4], got[2]) == (0, 0, 0)


def test_over_trajectories_the_episodes_of_a_group_cancel():
    got = advantages(step_weight=0.0, normalise="mean_std_norm")
    assert got[0] + got[3] == pytest.approx(0, abs=1e-12)


def test_episodes_of_equal_length_have_equal_means_in_both_statistics():
    case = {**CASE, "sequence": [0, 0, 1, 1], "reward": [0, 1, 0, 0], "anchor": list("abcd")}
    assert advantages(case) == advantages(case, statistics="over_steps") == [0.5, 0.5, -0.5, -0.5]
    # deviations of 1, 0 and 1, 1, 0, 0: sqrt(1/2) and sqrt(1/3)
    ratio = (
        advantages(case, normalise="mean_std_norm")[0]
        / advantages(case, statistics="over_steps", normalise="mean_std_norm")[0]
    )
    assert ratio == pytest.approx((1 / 3) ** 0.5 / 0.5**0.5, abs=1e-5)


def test_equal_returns_give_0_and_leave_the_turns_part():
    failed = {**CASE, "reward": [0.0] * 5}
    assert advantages(failed, normalise="mean_std_norm") == [0.0] * 5
    # what rounding leaves of three times 0.1 is not divided by epsilon
    rounded = {**CASE, "reward": [0.1 + 0.2, 0, 0, 0.3, 0], "anchor": list("abcde")}
    assert advantages(rounded, normalise="mean_std_norm") == [0.0] * 5
    assert advantages(failed, normalise="mean_std_norm", epsilon=0.0) == [0.0] * 5


def test_an_invalid_turn_is_charged_in_its_own_and_its_episodes_return():
    # the second turn of the loser costs 0.1: returns 1 and -0.1, mean 0.45;
    # to go -0.05 at the door (mean 0.1), -0.1 in the hall (mean 0.2)
    invalid = {**CASE, "invalid": [False, False, False, False, True]}
    expected = [0.55 + 0.15, 0.55 + 0.3, 0.55, -0.55 - 0.15, -0.55 - 0.3]
    assert advantages(invalid, invalid_penalty=0.1) == pytest.approx(expected, abs=1e-12)
    assert advantages(invalid) == pytest.approx(EXPECTED, abs=1e-12)


def test_where_all_lost_a_penalty_counts_as_much_as_success_elsewhere():
    # the second turn of the second loser costs 0.1: returns 0 and -0.1, half apart by 0.05 / 0.0707
    lost = {**CASE, "reward": [0.0] * 5, "invalid": [False, False, False, False, True]}
    charged = advantages(lost, normalise="mean_std_norm", invalid_penalty=0.1, step_weight=0.0)
    assert charged == pytest.approx([0.70710] * 3 + [-0.70710] * 2, abs=1e-4)
    won = advantages({**CASE}, normalise="mean_std_norm", step_weight=0.0)
    assert won == pytest.approx(charged, abs=1e-4)
    assert advantages(lost, normalise="mean_std_norm") == [0.0] * 5


def test_an_episode_alone_keeps_its_return_or_counts_0():
    alone = {"sequence": [0, 0], "reward": [0.0, 0.5], "anchor": ["a", "b"], "group": ["a"]}
    assert advantages(alone) == [0.5, 0.5]
    assert advantages(alone, normalise="mean_std_norm") == pytest.approx([0.5, 0.5], abs=1e-6)
    assert advantages(alone, singleton="zero") == [0.0, 0.0]


def test_similar_anchors_are_one_state():
    case = {**CASE, "anchor": ["door 1", "hall", "safe", "door 2", "hall"]}
    assert advantages(case)[0] == 0.5  # exactly equal ones only: the door does not recur
    # "door 1" and "door 2" share 5 of 6 characters: 2 * 5 / 12 = 0.83
    assert advantages(case, similarity=0.83) == pytest.approx(EXPECTED, abs=1e-12)
    assert advantages(case, similarity=0.84)[0] == 0.5


def test_similarity_holds_to_the_first_anchor_of_a_state():
    # b is 3/4 like a, and c is 3/4 like b, but c is 1/2 like a: it begins a state of its own
    rollouts = rollouts_of_turns([0, 1, 2], [0, 0, 0], ["wxyz", "wxya", "wxba"], ["a"] * 3)
    assert states(rollouts, 0.75).tolist() == [0, 0, 1]


def test_equal_long_anchors_are_one_state():
    # difflib's heuristic for texts from 200 characters on would not see that they are equal
    text = "You are in the hall. " * 20
    rollouts = rollouts_of_turns([0, 1, 2], [0, 0, 0], [text, text, text[:-2] + "!"], ["a"] * 3)
    assert states(rollouts, 0.95).tolist() == [0, 0, 0]


def test_no_state_is_shared_between_groups():
    rollouts = rollouts_of_turns([0, 1], [0, 0], ["door", "door"], ["a", "b"])
    assert states(rollouts).tolist() == states(rollouts, 0.5).tolist() == [0, 1]


def test_every_token_of_a_turn_has_the_turns_advantage():
    got = gigpo_advantage(rollouts_of_turns(**CASE, tokens=2), **PLAIN).advantage
    assert got == pytest.approx(np.repeat(EXPECTED, 2), abs=1e-12)


def test_what_was_added_to_the_rewards_of_tokens_counts_and_turns_without_tokens_keep_theirs():
    rollouts = rollouts_of_turns(**CASE)
    assert turn_rewards(replace(rollouts, reward=rollouts.reward - 0.1)) == pytest.approx(
        [-0.1, -0.1, 0.9, -0.1, -0.1]
    )
    unlearnt = replace(
        rollouts, sequence=rollouts.sequence[:2], step=rollouts.step[:2], reward=rollouts.reward[:2]
    )
    assert turn_rewards(unlearnt).tolist() == CASE["reward"]


def test_metrics_say_how_often_states_recur_and_what_that_gives():
    got = gigpo_advantage(rollouts_of_turns(**CASE), **PLAIN).metrics
    # 3 states of 2, 2, 1 turns; |turns| 0.125 * 2 + 0.25 * 2 = 0.75 beside |episodes| 2.5
    assert got == pytest.approx(
        {"state_size": 5 / 3, "states_shared": 2 / 3, "recurrence": 4 / 5, "step_share": 0.75 / 3.25}
    )
    never = gigpo_advantage(rollouts_of_turns(**{**CASE, "anchor": list("abcde")}), **PLAIN).metrics
    assert (never["recurrence"], never["step_share"]) == (0.0, 0.0)


def test_recurrence_is_told_by_environment_where_there_are_several():
    # two episodes of a house meet door and hall twice and the safe once; two of a talk meet nothing again
    sequence = [*CASE["sequence"], 2, 2, 3]
    case: dict[str, Any] = {
        "sequence": sequence,
        "reward": [0.0] * len(sequence),
        "anchor": [*CASE["anchor"], "hi", "well", "hello"],
        "group": ["a", "a", "b", "b"],
    }
    rollouts = replace(rollouts_of_turns(**case), environment=["house", "house", "talk", "talk"])
    got = gigpo_advantage(rollouts, **PLAIN).metrics
    expected = {"recurrence": 4 / 8, "recurrence_house": 4 / 5, "recurrence_talk": 0.0}
    assert {name: got[name] for name in expected} == pytest.approx(expected)
    # one environment needs no second name
    alone = replace(rollouts, environment=["house"] * 4)
    assert "recurrence_house" not in gigpo_advantage(alone, **PLAIN).metrics


REWARDS = st.lists(st.sampled_from([0.0, 0.25, 1.0, 1e6, -1e6]), min_size=8, max_size=8)


@given(reward=REWARDS, shift=st.sampled_from([0.0, 0.5, -3.0]), scale=st.sampled_from([0.5, 4.0]))
def test_shifts_and_scales_of_a_groups_returns(reward: list[float], shift: float, scale: float):
    """Four episodes of one turn each, of two groups; no step part."""
    case = {"sequence": list(range(4)), "anchor": list("abcd"), "group": ["a", "a", "b", "b"]}
    values = [value / 1e6 for value in reward[:4]]
    plain = advantages({**case, "reward": values})
    shifted = [value + shift * (row < 2) for row, value in enumerate(values)]
    assert advantages({**case, "reward": shifted}) == pytest.approx(plain, abs=1e-9)
    scaled = advantages({**case, "reward": [scale * value for value in values]})
    assert scaled == pytest.approx([scale * value for value in plain], abs=1e-7)


@given(reward=REWARDS, divide=st.booleans(), labels=st.lists(st.integers(0, 2), min_size=8, max_size=8))
def test_relative_values_are_finite_and_cancel(reward: list[float], divide: bool, labels: list[int]):
    label = np.array([0, 1, 2, *labels[3:]])
    got = relative(np.array(reward), label, divide=divide, epsilon=1e-6, singleton="zero")
    assert np.isfinite(got).all()
    sums = np.bincount(label, weights=got)
    assert sums == pytest.approx(np.zeros(3), abs=1e-6 if divide else 1e-3)  # of values up to 1e6


def test_permuting_episodes_permutes_advantages():
    order = [3, 4, 0, 1, 2]
    case = {
        "sequence": [0, 0, 1, 1, 1],
        "reward": [CASE["reward"][row] for row in order],
        "anchor": [CASE["anchor"][row] for row in order],
        "group": ["other name", "other name"],
    }
    assert advantages(case) == pytest.approx([EXPECTED[row] for row in order], abs=1e-12)


def test_returns_to_go_follow_an_episode_even_where_another_lies_in_between():
    # 0 -> 2: 1 + 0.5 * 4 = 3
    got = turn_returns(np.array([0, 1, 0]), np.array([1.0, 7.0, 4.0]), 0.5)
    assert got.tolist() == [3.0, 7.0, 4.0]


def test_the_algorithm_is_a_clipped_surrogate_with_kl_in_the_loss():
    expected = {
        "surrogate": "clip",
        "clip_low": 0.2,
        "clip_high": 0.2,
        "kl": "k3",
        "kl_coef": 0.01,
        "aggregation": "token_mean",
        "gamma": 0.95,
        "step_weight": 1.0,
    }
    assert {name: objective("gigpo").options[name] for name in expected} == expected
    with pytest.raises(ConfigError, match="'epsilon' of gigpo has no effect: 'normalise' is 'mean_norm'"):
        objective("gigpo", {"normalise": "mean_norm", "epsilon": 1e-4})


def test_states_that_never_recur_leave_grpo():
    rollouts = rollouts_of_turns(**{**CASE, "anchor": list("abcde")})
    plain, ours = objective("grpo").advantage, objective("gigpo").advantage
    assert plain is not None
    assert ours is not None
    assert ours(rollouts).advantage.tolist() == plain(rollouts).advantage.tolist()
