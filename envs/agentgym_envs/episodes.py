"""Scripted episodes played directly on an environment, without server or model, for checks and measurements.

> Player().play(make("guess"), task, follow(["4", "6"]), seed=0).total_reward
1.0
"""

import asyncio
import inspect
import random
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from agentgym_envs.core import Environment, Observation, StepResult, Task
from agentgym_envs.tools import simplest_call

Chooser = Callable[[Observation, int], str | None]
"""Function from the latest observation and the number of actions so far to the next action, or None to
stop.
"""

ANSWERS = (
    *("0", "1", "2", "3", "4", "5", "6", "7", "8", "9"),
    *("A", "B", "C", "D", "yes", "no", "look", "help", "finish"),
)
"""Actions of `spray` and `shuffled` in environments that list neither admissible actions nor tools."""

ValueT = TypeVar("ValueT")


@dataclass(frozen=True)
class Episode:
    """Actions and results; two episodes are equal when every observation, reward and flag is."""

    first: Observation
    actions: tuple[str, ...]
    results: tuple[StepResult, ...]

    @property
    def total_reward(self) -> float:
        """The return: the sum of all rewards."""
        return sum(result.reward for result in self.results)

    @property
    def over(self) -> bool:
        """True if the environment itself ended the episode."""
        return bool(self.results) and (self.results[-1].terminated or self.results[-1].truncated)


class Player:
    """Runner of episodes, coroutines included; not for use inside a running event loop."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()  # one loop for all calls: environments may keep connections

    def reset(self, environment: Environment[Any], task: Task, seed: int) -> Observation:
        """Begin an episode."""
        return self._settle(environment.reset(task, seed))

    def step(self, environment: Environment[Any], action: str) -> StepResult:
        """Execute one action."""
        return self._settle(environment.step(action))

    def play(
        self,
        environment: Environment[Any],
        task: Task,
        choose: Chooser,
        *,
        seed: int,
        max_turns: int | None = None,
    ) -> Episode:
        """One episode until the environment ends it, `choose` stops, or `max_turns` (default: the
        environment's).
        """
        first = self.reset(environment, task, seed)
        return self.play_on(environment, first, choose, max_turns=max_turns or environment.max_turns)

    def play_on(
        self, environment: Environment[Any], observation: Observation, choose: Chooser, *, max_turns: int
    ) -> Episode:
        """Continue the current episode from its latest `observation`."""
        first, actions, results = observation, list[str](), list[StepResult]()
        while len(actions) < max_turns and (action := choose(observation, len(actions))) is not None:
            actions.append(action)
            results.append(self.step(environment, action))
            observation = results[-1].observation
            if results[-1].terminated or results[-1].truncated:
                break
        return Episode(first, tuple(actions), tuple(results))

    def run(self, work: Coroutine[Any, Any, ValueT]) -> ValueT:
        """The result of a coroutine on the loop of this player."""
        return self._runner.run(work)

    def close(self) -> None:
        """Close the event loop."""
        self._runner.close()

    def _settle(self, value: ValueT | Awaitable[ValueT]) -> ValueT:
        if inspect.isawaitable(value):
            return self._runner.run(_wait_for(value))
        return value


def idle(observation: Observation, turn: int) -> str:  # noqa: ARG001 - the signature of a `Chooser`
    """Send empty actions."""
    return ""


def spray(observation: Observation, turn: int) -> str:
    """Send every admissible action in turn, regardless of the result; see `choices`."""
    actions = choices(observation)
    return actions[turn % len(actions)]


def follow(plan: Sequence[str]) -> Chooser:
    """Send these actions, then stop."""
    return lambda observation, turn: plan[turn] if turn < len(plan) else None


def shuffled(seed: int) -> Chooser:
    """Send random admissible actions; see `choices`."""
    generator = random.Random(seed)
    return lambda observation, turn: generator.choice(choices(observation))


def choices(observation: Observation) -> Sequence[str]:
    """The admissible actions; without any the simplest call of each tool; without any `ANSWERS`."""
    if observation.actions:
        return observation.actions
    return [simplest_call(tool) for tool in observation.tools or ()] or ANSWERS


def _wait_for(value: Awaitable[ValueT]) -> Coroutine[Any, Any, ValueT]:
    async def wait() -> ValueT:
        return await value

    return wait()
