"""Sequence of episodes behind Gymnasium's `reset` and `step`."""

import contextlib
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded

from agentgym_client.errors import EnvInfrastructureError
from agentgym_client.gymnasium.backends import Engine, Episode
from agentgym_envs.core import Observation, TaskNotFound

MOST_ACTION_CHARS = 65_536
SEEDS = 2**53
"""Upper bound of the seeds of episodes."""
OPTIONS = ("task_id", "split")

Info = dict[str, Any]
Opening = tuple[str, Info]
Transition = tuple[str, float, bool, bool, Info]


class EpisodeSequence:
    """Player of successive episodes on an engine; tasks come from `split` unless a reset names another, or a
    task.
    """

    def __init__(self, engine: Engine, split: str, max_turns: int | None) -> None:
        self._engine, self._split, self._max_turns = engine, split, max_turns
        self.episode: Episode | None = None
        """The current one; None before the first reset, and after a reset that failed."""

    async def begin(
        self, generator: np.random.Generator, seed: int | None, options: dict[str, Any] | None
    ) -> Opening:
        """Replace the current episode by another one.

        `generator` draws the task if `options` names none, and the episode's seed if `seed` is None.
        Raises `TaskNotFound`, and `ValueError` for unknown options.
        """
        task_id, split = _chosen(options or {})
        await self.leave()
        if task_id is None:
            task_id = await self._drawn(generator, split or self._split)
        if seed is None or seed >= SEEDS:
            seed = int(generator.integers(SEEDS))
        episode = await self._engine.open(task_id, int(seed), self._max_turns)
        self.episode = episode
        info = {"session_id": episode.id, **_shown(episode.observation, None), **_accounts(episode)}
        return episode.observation.text, info

    async def act(self, action: str) -> Transition:
        """Play one turn; `action` has been checked."""
        episode = self.playing()
        before = episode.observation
        result = await episode.step(action)
        info = {**result.info, **_shown(result.observation, before), **_accounts(episode)}
        if result.costs:
            info["costs"] = result.costs
        return result.observation.text, result.reward, result.terminated, result.truncated, info

    def playing(self) -> Episode:
        """The current episode; raises `ResetNeeded` if it is over or none was started."""
        episode = self.episode
        if episode is None:
            raise ResetNeeded("no episode has been begun: call reset")
        if episode.terminated or episode.truncated:
            raise ResetNeeded(f"the episode ended with turn {episode.turn}: call reset")
        return episode

    async def forked(self) -> "EpisodeSequence":
        """Another sequence with a fork of this episode."""
        episodes = EpisodeSequence(self._engine, self._split, self._max_turns)
        episodes.episode = await self.playing().fork()
        return episodes

    async def leave(self) -> None:
        """Close the current episode, if there is one; an unreachable one ends with its lease."""
        episode, self.episode = self.episode, None
        if episode is not None:
            with contextlib.suppress(EnvInfrastructureError):
                await episode.close()

    async def _drawn(self, generator: np.random.Generator, split: str) -> str:
        total = await self._engine.total(split)  # a split may be a lazy sequence of millions: none is listed
        if total == 0:
            raise TaskNotFound(f"split {split!r} has no tasks")
        return await self._engine.task_id(split, int(generator.integers(total)))


def checked_action(action: object) -> str:
    """A valid action; raises `TypeError` or `ValueError`. Lone surrogates become `?`."""
    if not isinstance(action, str):
        raise TypeError(f"an action is text, not {type(action).__name__}")
    if len(action) > MOST_ACTION_CHARS:
        raise ValueError(f"an action has at most {MOST_ACTION_CHARS} characters, not {len(action)}")
    return action.encode("utf-8", "replace").decode("utf-8")


def _chosen(options: dict[str, Any]) -> tuple[str | None, str | None]:
    for name in options:
        if name not in OPTIONS:
            raise ValueError(f"no reset option {name!r}; there are: {', '.join(OPTIONS)}")
    task_id, split = options.get("task_id"), options.get("split")
    for name, value in (("task_id", task_id), ("split", split)):
        if not isinstance(value, str | None):
            raise ValueError(f"the reset option {name!r} is text, not {type(value).__name__}")
    return task_id, split


def _shown(observation: Observation, before: Observation | None) -> Info:
    """The info members of an observation: admissible actions, and tools if they changed."""
    info: Info = {}
    if observation.actions is not None:
        info["available_actions"] = list(observation.actions)
    if observation.tools != (None if before is None else before.tools):
        info["tools"] = None if observation.tools is None else list(observation.tools)
    return info


def _accounts(episode: Episode) -> Info:
    return {"turn": episode.turn, "total_reward": episode.total_reward, "task_id": episode.task_id}
