"""Potential-based shaping keeps the best policy of small worlds, and what only looks like it does not."""

import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentevol.config.rewards.shaping import potential_discount
from agentevol.config.run import load
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.data.rewards.potentials import (
    History,
    histories,
    new_observations,
    potential_of,
    potentials,
    shaping_rewards,
    with_potential,
)
from agentevol.data.rewards.testing import example_episodes
from agentevol.data.rewards.turn_rewards import turn_reward, turn_rewards, with_turn_rewards
from agentevol.data.training_sequences import facts
from agentevol.learn.batches.packing import episode_sequences
from agentgym_store.records import Trajectory

HERE = __name__
STATES, ACTIONS = 5, 3
END = STATES
"""Number of the final state."""
Values = np.ndarray
Reward = Callable[[int, int], float]


def test_the_rewards_of_a_potential_sum_to_that_of_the_start():
    assert shaping_rewards(np.array([0.5, 0.2, 0.9]), 1.0).tolist() == pytest.approx([-0.3, -0.2])
    # cut by a limit, with a critic that values the last state
    kept = shaping_rewards(np.array([0.5, 0.2, 0.9]), 1.0, bootstrapped=True)
    assert kept.tolist() == pytest.approx([-0.3, 0.7])
    assert shaping_rewards(np.array([0.5, 0.2, 0.9]), 0.5).tolist() == pytest.approx([-0.4, -0.2])


def action_values(next_state: Values, reward: Values, extra: Reward, discount: float) -> Values:
    """Optimal Q of a deterministic world by value iteration; `extra(s, s')` is added to each reward."""
    value = np.zeros((STATES, ACTIONS))
    added = np.array([[extra(state, int(after)) for after in next_state[state]] for state in range(STATES)])
    for _ in range(400):
        best = np.append(value.max(axis=1), 0.0)
        value = reward + added + discount * best[next_state]
    return value


def world(seed: int) -> tuple[Values, Values, Values]:
    """Next states (S, A), rewards (S, A) and potentials (S,)."""
    random = np.random.default_rng(seed)
    next_state = random.integers(0, STATES + 1, (STATES, ACTIONS))
    next_state[:, 0] = np.arange(1, STATES + 1)  # the end can be reached
    return next_state, random.normal(size=(STATES, ACTIONS)), random.normal(size=STATES)


def shaped(potential: Values, discount: float) -> Reward:
    def extra(state: int, after: int) -> float:
        if after == END:
            return shaping_rewards(np.array([potential[state], 7.0]), discount)[0]
        return shaping_rewards(np.array([potential[state], potential[after], 7.0]), discount)[0]

    return extra


def best(values: Values) -> list[set[int]]:
    return [set(np.flatnonzero(sequence > sequence.max() - 1e-9).tolist()) for sequence in values]


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), discount=st.sampled_from([0.5, 0.8, 0.9]))
def test_the_best_actions_stay_and_their_values_shift_by_the_potential(seed: int, discount: float):
    next_state, reward, potential = world(seed)
    plain = action_values(next_state, reward, lambda *_: 0.0, discount)
    found = action_values(next_state, reward, shaped(potential, discount), discount)
    assert best(found) == best(plain)
    assert np.abs(found - (plain - potential[:, None])).max() < 1e-9


def changes_a_policy(extra_of: Callable[[Values], Reward], discount: float = 0.8) -> bool:
    for seed in range(30):
        next_state, reward, potential = world(seed)
        plain = action_values(next_state, reward, lambda *_: 0.0, discount)
        if best(action_values(next_state, reward, extra_of(potential), discount)) != best(plain):
            return True
    return False


def test_a_visit_bonus_an_end_with_a_potential_and_another_discount_change_the_best_policy():
    assert not changes_a_policy(lambda potential: shaped(potential, 0.8))
    assert changes_a_policy(lambda potential: lambda _, after: 0.0 if after == END else potential[after])
    assert changes_a_policy(
        lambda potential: (
            lambda state, after: 0.8 * (3.0 if after == END else potential[after]) - potential[state]
        )
    )
    assert changes_a_policy(lambda potential: shaped(potential, 1.0))


def test_a_history_holds_what_was_seen_so_far_and_nothing_of_what_comes():
    episode = example_episodes()[0]
    states = histories(episode)
    assert [len(state.turns) for state in states] == list(range(len(episode.turns) + 1))
    assert [state.observation for state in states] == [
        episode.initial_observation,
        *(turn.observation for turn in episode.turns),
    ]
    assert not hasattr(states[0], "ending")


def test_new_observations_pay_once():
    turn = example_episodes()[0].turns[0]
    seen = [turn.model_copy(update={"observation": text}) for text in ("desk", "lamp", "desk")]
    history = History("e", "t", "", "desk", tuple(seen))
    assert new_observations(history) == 0.5  # two different ones
    assert new_observations(History("e", "t", "", "desk", ())) == 0.0


def depth(history: History) -> float:
    return float(len(history.turns))


def doubled(reward: float, observation: str, action: str) -> float:  # noqa: ARG001
    return 2 * reward


def sequences_and_episodes():
    episodes = [one for one in example_episodes() if one.turns[0].sample is not None]
    sequences = [
        replace(sequence, episode=facts(one)) for one in episodes for sequence in episode_sequences(one, 1.0)
    ]
    return sequences, episodes


def test_a_foreign_potential_is_added_to_the_rewards_of_training_sequences():
    sequences, episodes = sequences_and_episodes()
    by_id = {one.id: one for one in episodes}
    for has_critic in (False, True):
        found = with_potential(sequences, episodes, f"{HERE}:depth", discount=1.0, has_critic=has_critic)
        for before, after in zip(sequences, found, strict=True):
            assert before.episode is not None
            assert after.episode is not None
            added = np.subtract(after.episode.rewards, before.episode.rewards)
            turns = len(by_id[after.trajectory_id].turns)
            end = 1.0 if has_critic and after.episode.truncated else 1.0 - turns
            assert added.tolist() == pytest.approx([1.0] * (turns - 1) + [end])


def test_a_foreign_turn_reward_replaces_the_rewards_of_training_sequences():
    sequences, episodes = sequences_and_episodes()
    found = with_turn_rewards(sequences, episodes, f"{HERE}:doubled")
    for before, after in zip(sequences, found, strict=True):
        assert before.episode is not None
        assert after.episode is not None
        assert after.episode.rewards == pytest.approx([2 * reward for reward in before.episode.rewards])


def unknown(history: History) -> float:
    return float("nan") if history.turns else 0.0


def failing(history: History) -> float:
    return 1 / len(history.turns)


def no_arguments() -> float:
    return 0.0


def test_a_potential_that_gives_no_number_stops_the_run_in_one_line():
    episode: Trajectory = example_episodes()[0]
    with pytest.raises(RunStopped, match=f"potential '{HERE}:unknown' gave nan for example/1/task-0/000"):
        potentials(f"{HERE}:unknown", unknown, episode)
    with pytest.raises(RunStopped, match="raised ZeroDivisionError: division by zero"):
        potentials(f"{HERE}:failing", failing, episode)
    with pytest.raises(RunStopped, match="turn reward 'x' gave None for"):
        turn_rewards("x", lambda *_: None, episode)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match=re.escape("is no function of (history): too many positional")):
        potential_of(f"{HERE}:no_arguments")
    with pytest.raises(ConfigError, match="is no function of \\(reward, observation, action\\)"):
        turn_reward(f"{HERE}:depth")


@pytest.mark.parametrize(
    ("overrides", "complaint"),
    [
        (
            ["algorithm=ppo", "shaping.potential=news"],
            "no potential named 'news'; there are: new_observations",
        ),
        (["algorithm=grpo", "shaping.potential=new_observations"], "'grpo' compares whole returns"),
        (["algorithm=gigpo", "shaping.potential=new_observations"], "'gigpo' compares whole returns"),
        (["algorithm=dpo", "shaping.potential=new_observations"], "'dpo' learns from pairs"),
        (["shaping.reward=turn_cost"], "'agentevol' learns from episodes, not rewards"),
        (
            ["algorithm=reinforce_pp", "learn.options.gamma=0.9", "shaping.potential=new_observations"],
            "learn.options.gamma = 0.9 discounts from token to token",
        ),
        (["algorithm=ppo", "shaping.reward=turn_cost", "reward.function=success"], "leave out one"),
        (["algorithm=grpo", "shaping.reward=turn_cost", "explore.resample=1"], "explore.resample compares"),
    ],
)
def test_shaping_without_effect_is_refused(overrides: list[str], complaint: str):
    with pytest.raises(ConfigError, match=re.escape(complaint)):
        load(None, overrides)


def test_the_discount_of_shaping_is_that_of_the_algorithm():
    shaping = "shaping.potential=new_observations"
    discounted = ["algorithm=ppo", "learn.options.turn_discount=0.9", shaping]
    assert potential_discount(load(None, discounted).learn) == 0.9
    assert potential_discount(load(None, ["algorithm=reinforce_pp", shaping]).learn) == 1.0
