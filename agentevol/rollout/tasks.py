"""Tasks of a split, listed by the environment server."""

import asyncio
from collections.abc import Sequence
from typing import NamedTuple

from agentevol.core.errors import ConfigError, EnvironmentFault, TransportFault
from agentevol.core.splits import Choice
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem

PAGE = 1000
REQUESTS = 16
"""Pages that are requested concurrently."""


class EnvTask(NamedTuple):
    """Public facts of a task."""

    task_id: str
    split: str
    kind: str
    difficulty: str
    instruction: str
    env: str = ""
    """Environment; empty is the run's own."""


def list_tasks(
    url: str, environment: str, split: str, difficulty: str | None, choose: Choice
) -> list[EnvTask]:
    """Chosen tasks of a split, in the order of the chosen positions.

    Raises `ConfigError` for an unknown or empty split, `EnvironmentFault` or `TransportFault` for a server
    that fails.
    """
    return asyncio.run(_list(url, environment, split, difficulty, choose))


def list_seats(url: str, environment: str) -> tuple[str, ...]:
    """Names of an environment's seats; () where there is one agent only. Raises as `list_tasks`."""

    async def ask() -> tuple[str, ...]:
        async with EnvClient(url) as client:
            return next((one.seats for one in await client.environments() if one.env == environment), ())

    try:
        return asyncio.run(ask())
    except ServerProblem as problem:
        raise EnvironmentFault(problem.kind, problem.detail) from problem
    except EnvClientError as cause:
        raise TransportFault(str(cause)) from cause


async def _list(
    url: str, environment: str, split: str, difficulty: str | None, choose: Choice
) -> list[EnvTask]:
    try:
        async with EnvClient(url) as client:
            total = (await client.tasks(environment, split, difficulty=difficulty, limit=1)).total
            if total == 0:
                raise ConfigError(
                    f"{environment} has no tasks in split {split!r} of difficulty {difficulty!r}"
                )
            gate = asyncio.Semaphore(REQUESTS)

            async def page(offset: int, limit: int) -> list[EnvTask]:
                async with gate:
                    found = await client.tasks(
                        environment, split, difficulty=difficulty, offset=offset, limit=limit
                    )
                return [
                    EnvTask(t.task_id, t.split, t.kind, t.difficulty, t.instruction, environment)
                    for t in found.tasks
                ]

            pages = await asyncio.gather(*(page(*run) for run in _runs(choose(total))))
            return [task for tasks in pages for task in tasks]
    except ServerProblem as problem:
        if problem.kind in ("task-not-found", "env-not-found", "validation", "unsupported-operation"):
            raise ConfigError(f"{environment}, split {split!r}: {problem.detail}") from problem
        raise EnvironmentFault(problem.kind, problem.detail) from problem
    except EnvClientError as cause:
        raise TransportFault(str(cause)) from cause


def _runs(positions: Sequence[int]) -> list[tuple[int, int]]:
    """Consecutive positions as (offset, length) of one page each."""
    runs: list[tuple[int, int]] = []
    for position in positions:
        offset, length = runs[-1] if runs else (position, 0)
        if position == offset + length and length < PAGE:
            runs[-1:] = [(offset, length + 1)]
        else:
            runs.append((position, 1))
    return runs
