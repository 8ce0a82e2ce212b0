"""Check of environments whose `reset` or `step` is a coroutine: concurrent and cancelled ones."""

import asyncio
import inspect
from collections.abc import Awaitable, Iterator, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from agentgym_envs.core import Environment, StepResult, Task
from agentgym_envs.episodes import shuffled
from agentgym_envs.testing.subject import Subject, raised_by

ValueT = TypeVar("ValueT")
TURNS = 8
"""Actions of each concurrent episode."""


def check_waits(subject: Subject) -> Iterator[str]:
    """Concurrent coroutines of two episodes play what they play alone, and a cancelled one ends."""
    if not subject.player.run(_waits(subject)):
        return
    if subject.factory().max_waiting < 1:
        yield f"max_waiting is {subject.factory().max_waiting}; it must be at least 1"
    if subject.factory().deterministic:
        yield from _concurrency_problems(subject)
    yield from _cancellation_problems(subject)


async def _waits(subject: Subject) -> bool:
    """True if the environment has coroutines."""
    environment, task = subject.factory(), subject.drawn[0]
    values: list[Any] = [environment.reset(task, subject.seed)]
    await _settled(values[0])
    values.append(environment.step(""))
    await _settled(values[1])
    environment.close()
    return any(map(inspect.isawaitable, values))


def _concurrency_problems(subject: Subject) -> Iterator[str]:
    tasks = [subject.drawn[0], subject.drawn[-1]]
    alone = [subject.play(task, shuffled(subject.seed + 2)) for task in tasks]
    actions = [episode.actions[:TURNS] for episode in alone]
    together = subject.player.run(_together(subject, tasks, actions))
    for task, episode, results in zip(tasks, alone, together, strict=True):
        if list(episode.results[:TURNS]) != results:
            yield f"{task.id!r}: coroutines of another episode that run meanwhile change it"


async def _together(
    subject: Subject, tasks: Sequence[Task], actions: Sequence[Sequence[str]]
) -> list[list[StepResult]]:
    return await asyncio.gather(
        *(_played(subject, task, plan) for task, plan in zip(tasks, actions, strict=True))
    )


async def _played(subject: Subject, task: Task, actions: Sequence[str]) -> list[StepResult]:
    environment = subject.factory()
    await _settled(environment.reset(task, subject.seed))
    results = [await _settled(environment.step(action)) for action in actions]
    environment.close()
    return results


def _cancellation_problems(subject: Subject) -> Iterator[str]:
    environment = subject.factory()
    if subject.player.run(_goes_on(subject, environment)):
        yield "a step that is cancelled goes on"
    if cause := raised_by(environment.close):
        yield f"close after a cancelled step raised {type(cause).__name__}: {str(cause)[:120]}"


async def _goes_on(subject: Subject, environment: Environment[Any]) -> bool:
    """True if a step that waits gives a result though it was cancelled."""
    await _settled(environment.reset(subject.drawn[0], subject.seed))
    step = asyncio.ensure_future(_settled(environment.step("")))
    await asyncio.sleep(0)
    if step.done():  # it had nothing to wait for
        return False
    step.cancel()
    with suppress(Exception, asyncio.CancelledError):
        await asyncio.wait_for(step, subject.step_limit_s)
    return not step.cancelled()


async def _settled(value: ValueT | Awaitable[ValueT]) -> ValueT:
    if inspect.isawaitable(value):
        return await value
    return value
