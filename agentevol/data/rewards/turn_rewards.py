"""Rewards of single turns by name, in place of the environment's; they may change the optimal policy.

A user's function is given as `shaping.reward = "module:attribute"`, or registered by an entry point of the
group `agentevol.turn_rewards`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from agentevol.config.rewards.registries import TURN_REWARDS
from agentevol.core.errors import RunStopped, described
from agentevol.core.protocols import TrainingSequence
from agentevol.data.rewards.reward_functions import finite
from agentgym_store.records import Trajectory

TurnReward = Callable[[float, str, str], float]
"""Function from the reward of a turn, the observation after it and its action to a finite number. Pure."""


def turn_cost(reward: float, _: str, __: str) -> float:
    """The reward less 0.01: shorter episodes earn more."""
    return reward - 0.01


def turn_reward(name: str) -> TurnReward:
    """The function of this name. Raises `ConfigError` where there is none, or the object is no function."""
    return TURN_REWARDS.function(name, "reward", "observation", "action")


def turn_rewards(name: str, function: TurnReward, episode: Trajectory) -> tuple[float, ...]:
    """(T,) new rewards of an episode's turns.

    Raises `RunStopped` where the function raises, or gives something else than a finite number.
    """
    try:
        found = [function(turn.reward, turn.observation, turn.action) for turn in episode.turns]
    except Exception as cause:  # whatever a user's function raises
        raise RunStopped(f"turn reward {name!r} raised {described(cause)}, for {episode.id}") from cause
    return tuple(finite(f"turn reward {name!r}", value, episode.id) for value in found)


def with_turn_rewards(
    sequences: Iterable[TrainingSequence], explored: Sequence[Trajectory], name: str
) -> list[TrainingSequence]:
    """Training sequences with the rewards of the function `name` in place of the environment's."""
    function, by_id = turn_reward(name), {episode.id: episode for episode in explored}
    found: dict[str, tuple[float, ...]] = {}
    given: list[TrainingSequence] = []
    for sequence in sequences:
        facts, episode = sequence.episode, by_id.get(sequence.trajectory_id)
        if facts is None or episode is None:
            given.append(sequence)
            continue
        if episode.id not in found:
            found[episode.id] = turn_rewards(name, function, episode)
        given.append(replace(sequence, episode=replace(facts, rewards=found[episode.id])))
    return given
