"""Potential-based shaping: rewards of turns that keep the optimal policy (Ng, Harada and Russell, 1999).

Potentials 0.5, 0.2 and 0.9 of the states of an episode with two turns, discount 1, which the environment
ended: the end has potential 0.

    turn                 0      1
    F = g * P(s') - P(s) -0.3   -0.2     sum -0.5 = -P(s_0), whatever was done

A user's potential is given as `shaping.potential = "module:attribute"`, or registered by an entry point of
the group `agentevol.shapings`.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from agentevol.config.rewards.registries import POTENTIALS
from agentevol.core.algorithms.contract import Floats
from agentevol.core.errors import RunStopped, described
from agentevol.core.protocols import TrainingSequence
from agentevol.data.rewards.reward_functions import finite
from agentgym_store.records import Trajectory, Turn


@dataclass(frozen=True)
class History:
    """State of an episode before an action, as its agent knows it: everything up to the latest observation.

    A potential sees nothing of what comes later: this is what keeps the optimal policy.
    """

    env: str
    task_id: str
    instruction: str
    initial_observation: str
    turns: tuple[Turn, ...]
    """Turns so far; none at the start."""

    @property
    def observation(self) -> str:
        """The latest observation."""
        return self.turns[-1].observation if self.turns else self.initial_observation


Potential = Callable[[History], float]
"""Function from a history to a finite number. Pure: equal histories have equal potentials."""


def new_observations(history: History) -> float:
    """1 - 1/n of n different observations so far: what is new pays at once, and less the later it comes."""
    seen = {history.initial_observation, *(turn.observation for turn in history.turns)}
    return 1 - 1 / len(seen)


def potential_of(name: str) -> Potential:
    """The potential of this name. Raises `ConfigError` where there is none, or the object is no function."""
    return POTENTIALS.function(name, "history")


def histories(episode: Trajectory) -> list[History]:
    """States before each of the T turns, and the last one: T + 1."""
    return [
        History(
            env=episode.env,
            task_id=episode.task_id,
            instruction=episode.instruction,
            initial_observation=episode.initial_observation,
            turns=episode.turns[:count],
        )
        for count in range(len(episode.turns) + 1)
    ]


def potentials(name: str, potential: Potential, episode: Trajectory) -> Floats:
    """(T + 1,) potentials of the states of an episode.

    Raises `RunStopped` where the potential raises, or gives something else than a finite number.
    """
    try:
        found = [potential(history) for history in histories(episode)]
    except Exception as cause:  # whatever a user's function raises
        raise RunStopped(f"potential {name!r} raised {described(cause)}, for {episode.id}") from cause
    return np.asarray([finite(f"potential {name!r}", value, episode.id) for value in found], np.float64)


def shaping_rewards(potential_T1: Floats, discount: float, *, bootstrapped: bool = False) -> Floats:
    """(T,) discount * P(s_{t+1}) - P(s_t), of the (T + 1,) potentials of an episode's states.

    The end has potential 0, or else stalling in a good state would pay; only where a critic values the last
    state of an episode that a limit cut (`bootstrapped`) does it keep its potential.
    """
    after_T = potential_T1[1:].copy()
    if not bootstrapped:
        after_T[-1] = 0.0
    return discount * after_T - potential_T1[:-1]


def with_potential(
    sequences: Iterable[TrainingSequence],
    explored: Sequence[Trajectory],
    name: str,
    *,
    discount: float,
    has_critic: bool,
) -> list[TrainingSequence]:
    """Training sequences whose turns earn the shaping rewards of the potential `name` in addition.

    `has_critic` says that the algorithm bootstraps episodes that a limit cut.
    """
    potential, by_id = potential_of(name), {episode.id: episode for episode in explored}
    found: dict[str, Floats] = {}
    shaped: list[TrainingSequence] = []
    for sequence in sequences:
        facts, episode = sequence.episode, by_id.get(sequence.trajectory_id)
        if facts is None or episode is None:
            shaped.append(sequence)
            continue
        if episode.id not in found:
            own = potentials(name, potential, episode)
            found[episode.id] = shaping_rewards(own, discount, bootstrapped=has_critic and facts.truncated)
        rewards = np.asarray(facts.rewards, np.float64) + found[episode.id]
        shaped.append(replace(sequence, episode=replace(facts, rewards=tuple(rewards.tolist()))))
    return shaped
