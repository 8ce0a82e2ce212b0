"""Rewards of turns by hand, and that they telescope."""

from math import isnan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentevol.core.algorithms.contract import Rollouts, Steps
from agentevol.core.errors import ConfigError
from agentevol.learn.rewards.monte_carlo_values import StateValue, counted, fingerprint, pooled
from agentevol.learn.rewards.process import (
    format_errors,
    invalid_actions,
    repetitions,
    value_differences,
    values_before,
    weighted,
)

# Two episodes of three turns and one: values before each turn, outcomes 1 and 0.
VALUES = np.array([0.5, 0.25, 0.75, 0.4])
EPISODE = np.array([0, 0, 0, 1])
OUTCOME = np.array([1.0, 0.0])


def test_a_turn_earns_how_much_it_raised_the_value_of_the_state():
    # 0.25 - 0.5, 0.75 - 0.25, 1 - 0.75; 0 - 0.4
    rewards = value_differences(VALUES, EPISODE, OUTCOME)
    assert rewards.tolist() == pytest.approx([-0.25, 0.5, 0.25, -0.4], abs=1e-12)


def test_with_a_discount_the_rewards_are_differences_of_a_potential():
    # 0.9 * 0.25 - 0.5, 0.9 * 0.75 - 0.25, 0.9 * 1 - 0.75; 0.9 * 0 - 0.4
    rewards = value_differences(VALUES, EPISODE, OUTCOME, discount=0.9)
    assert rewards.tolist() == pytest.approx([-0.275, 0.425, 0.15, -0.4], abs=1e-12)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=40), min_size=1, max_size=5),
    st.sampled_from([1.0, 0.95]),
)
def test_rewards_telescope_to_the_outcome_minus_the_value_of_the_start(episodes, discount):
    sequence = np.repeat(np.arange(len(episodes)), [len(values) for values in episodes])
    outcome = np.array([round(values[-1]) for values in episodes], dtype=np.float64)
    rewards = value_differences(np.concatenate(episodes), sequence, outcome, discount=discount)
    for number, values in enumerate(episodes):
        own = rewards[sequence == number]
        total = float((own * discount ** np.arange(len(own))).sum())
        assert total == pytest.approx(discount ** len(own) * outcome[number] - values[0], abs=1e-9)


def test_a_constant_value_rewards_the_last_turn_alone():
    rewards = value_differences(np.full(4, 0.3), EPISODE, OUTCOME)
    assert rewards.tolist() == pytest.approx([0, 0, 0.7, -0.3], abs=1e-12)


def test_dithering_earns_nothing_though_the_sum_of_values_would():
    # the same way, once direct and once with ten turns back and forth between states of value 0.5 and 0.6
    direct, dithering = np.array([0.5, 0.6]), np.array([0.5, 0.6] * 6)
    sums = [
        value_differences(values, np.zeros(len(values), dtype=np.int64), np.array([1.0])).sum()
        for values in (direct, dithering)
    ]
    assert sums == pytest.approx([0.5, 0.5], abs=1e-9)
    assert dithering.sum() > direct.sum() + 5


def test_values_after_turns_are_shifted_behind_the_value_of_the_start():
    before = values_before(np.array([0.25, 0.75, 0.9, 0.1]), EPISODE, np.array([0.5, 0.4]))
    assert before.tolist() == VALUES.tolist()


def rollouts(**changes) -> Rollouts:
    """Two episodes: turns of two tokens, one and none; then one turn of two tokens."""
    steps = Steps(
        sequence=EPISODE,
        turn=np.array([0, 1, 2, 0]),
        reward=np.zeros(4),
        anchor=["a", "b", "b", "b"],
        mode=np.array([1, -1, 0, 2]),
        tokens=np.array([2, 1, 0, 2]),
        invalid=np.array([False, True, False, False]),
    )
    given = {
        "sequence": np.array([0, 0, 0, 1, 1]),
        "step": np.array([0, 0, 1, 3, 3]),
        "reward": np.zeros(5),
        "group": ["g", "g"],
        "truncated": np.array([False, False]),
        "costs": {},
        "steps": steps,
        "old_logp": np.array([-1.0, -2.0, -3.0, -4.0, -5.0]),
        "ref_logp": np.array([-1.5, -2.0, -2.0, -4.0, -5.0]),
    }
    return Rollouts(**{**given, **changes})


def test_heads_are_weighted_and_missing_judgements_count_for_nothing():
    heads = {"progress": np.array([1.0, np.nan]), "safety": np.array([2.0, 4.0])}
    # 0.5 * 1 + 0.25 * 2, then 0.25 * 4 alone
    assert weighted(heads, {"progress": 0.5, "safety": 0.25}).tolist() == [1.0, 1.0]
    with pytest.raises(ConfigError, match="unlike progres, progress"):
        weighted(heads, {"progres": 0.5, "safety": 0.25})


def test_rules_judge_without_a_model():
    steps = rollouts().steps
    assert invalid_actions(steps).tolist() == [0, -1, 0, 0]
    assert format_errors(steps).tolist() == [0, -1, 0, 0]
    # "go" in state b twice within the first episode; in state a, or in another episode, it is new
    assert repetitions(steps, ["go", "go", "go", "go"]).tolist() == [0, 0, -1, 0]
    assert repetitions(steps, ["go", "go", "stay", "go"]).tolist() == [0, 0, 0, 0]


def test_a_value_keeps_its_counts():
    value = counted([1, 0, 1, 0, 1, 1, 0, 0])
    assert value == StateValue(4.0, 8)
    assert value.value == 0.5
    assert isnan(counted([]).value)
    with pytest.raises(ConfigError, match="outcomes of continuations lie in"):
        counted([1.5])


def test_episodes_through_one_state_stand_in_for_continuations():
    # state x in episodes 0, 1 and 2 (twice in 0), y in two episodes only
    values = pooled(["x", "x", "y", "x", "y", "x"], np.array([0, 0, 0, 1, 1, 2]), [1.0, 0.0, 1.0])
    expected = StateValue(2.0, 3)
    assert values == [expected, expected, None, expected, None, expected]
    assert pooled(["y"], np.array([0]), [1.0], at_least=1) == [StateValue(1.0, 1)]


def test_a_replay_that_shows_something_else_has_another_fingerprint():
    assert fingerprint(["a", "b"]) == fingerprint(["a", "b"])
    others = (["a", "c"], ["b", "a"], ["ab"], ["ab", ""], ["a", "b", ""])
    assert len({fingerprint(texts) for texts in others} | {fingerprint(["a", "b"])}) == 6
