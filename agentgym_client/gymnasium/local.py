"""In-process engine, with the parts of a server that an episode needs.

Turns are counted and truncated at `max_turns`, rewards are summed, info is JSON, and an exception of an
environment is a failure of the environment, never an outcome. There is no deadline.
"""

import inspect
import json
import math
import secrets
from collections.abc import Awaitable
from typing import Any, TypeVar, cast

from agentgym_client.errors import EnvInfrastructureError
from agentgym_client.gymnasium.backends import Engine, Episode
from agentgym_envs.core import Environment, StepResult, Task, checked_costs
from agentgym_envs.registry import environment_class

MOST_TURNS = 10_000
ValueT = TypeVar("ValueT")


class LocalEngine(Engine):
    """Engine in this process; raises `UnknownEnvironment` and `EnvironmentUnavailable`."""

    def __init__(self, env_name: str) -> None:
        self._kind = environment_class(env_name)
        self._world = self._kind()
        super().__init__()

    async def total(self, split: str) -> int:
        """See `Engine`."""
        return len(self._world.tasks(split))

    async def task_id(self, split: str, index: int) -> str:
        """See `Engine`; makes only this task."""
        return self._world.tasks(split)[index].id

    async def open(self, task_id: str, seed: int, max_turns: int | None) -> Episode:
        """See `Engine`."""
        if max_turns is not None and not 1 <= max_turns <= MOST_TURNS:
            raise ValueError(f"max_turns must be 1 to {MOST_TURNS}, not {max_turns}")
        task = self._world.task(task_id)
        return await LocalEpisode.begun(self._kind, task, seed, max_turns or self._kind.max_turns)

    async def close(self) -> None:
        """Free the instance that lists tasks."""
        self._world.close()


class LocalEpisode(Episode):
    """Environment instance with the session state of its episode."""

    def __init__(self, environment: Environment[Any], task: Task, seed: int, max_turns: int) -> None:
        self._environment, self._task, self._seed, self._max_turns = environment, task, seed, max_turns
        self._actions: list[str] = []
        self._broken = False
        self.id = f"s_{secrets.token_urlsafe(18)}"
        self.task_id = task.id
        self.turn = 0
        self.total_reward = 0.0
        self.terminated = self.truncated = False

    @classmethod
    async def begun(
        cls, kind: type[Environment[Any]], task: Task, seed: int, max_turns: int
    ) -> "LocalEpisode":
        """A new episode of a task."""
        episode = cls(kind(), task, seed, max_turns)
        try:
            episode.observation = await _settled(episode._environment.reset(task, seed))
        except Exception as cause:
            raise episode._failure(cause) from cause
        return episode

    async def step(self, action: str) -> StepResult:
        """See `Episode`."""
        if self._broken:
            raise EnvInfrastructureError("internal", False, "the episode failed")
        try:
            result = _checked(await _settled(self._environment.step(action)))
        except Exception as cause:
            raise self._failure(cause) from cause
        return self._commit(action, result)

    async def fork(self) -> "LocalEpisode":
        """See `Episode`: from a snapshot if the environment has them, else by replaying the actions."""
        kind = type(self._environment)
        if kind.forkable and not self._broken:
            child = LocalEpisode(kind(), self._task, self._seed, self._max_turns)
            child._environment.restore(self._environment.snapshot())
        elif kind.deterministic:
            child = await LocalEpisode.begun(kind, self._task, self._seed, self._max_turns)
            for action in self._actions:
                await child.step(action)
        else:
            raise NotImplementedError(f"{kind.name} cannot be forked")
        child._actions = list(self._actions)
        child.turn, child.total_reward, child.observation = self.turn, self.total_reward, self.observation
        return child

    async def close(self) -> None:
        """See `Episode`."""
        self._environment.close()

    def _commit(self, action: str, result: StepResult) -> StepResult:
        self.turn += 1
        self._actions.append(action)
        self.observation = result.observation
        self.total_reward += result.reward
        info = dict(result.info)
        self.terminated, self.truncated = result.terminated, result.truncated
        if self.truncated:
            info.setdefault("truncation_reason", "environment")
        elif self.turn >= self._max_turns and not self.terminated:
            self.truncated, info["truncation_reason"] = True, "max_turns"
        return result.model_copy(update={"truncated": self.truncated, "info": info})

    def _failure(self, cause: Exception) -> EnvInfrastructureError:
        self._broken = True
        return EnvInfrastructureError("internal", False, f"the environment raised {cause!r}")


def _checked(result: StepResult) -> StepResult:
    """A step's result as a server would send it; raises `TypeError` or `ValueError` if it could not."""
    if not math.isfinite(result.reward):
        raise ValueError(f"the environment's reward is {result.reward}")
    changes: dict[str, Any] = {}
    if result.costs:
        changes["costs"] = checked_costs(result.costs)
    if result.info:
        changes["info"] = json.loads(json.dumps(result.info, allow_nan=False))
    return result.model_copy(update=changes) if changes else result


async def _settled(value: ValueT | Awaitable[ValueT]) -> ValueT:
    return await cast("Awaitable[ValueT]", value) if inspect.isawaitable(value) else value
