"""Which tasks there are, asked of the environment server."""

import asyncio
from typing import NamedTuple

from agentevol.errors import ConfigError, EnvironmentFault, TransportFault
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem

PAGE = 1000


class EnvTask(NamedTuple):
    """What everybody may know of a task."""

    task_id: str
    split: str
    kind: str
    difficulty: str
    instruction: str


def list_tasks(
    url: str,
    environment: str,
    split: str,
    difficulty: str | None,
    *,
    first: int = 0,
    count: int | None = None,
) -> list[EnvTask]:
    """`count` tasks of a split (at most each once; None: all) from number `first` on, going round at its end.

    Raises `ConfigError` for an unknown or empty split, `EnvironmentFault` or `TransportFault` for a server
    that fails.
    """
    return asyncio.run(_list(url, environment, split, difficulty, first, count))


async def _list(
    url: str, environment: str, split: str, difficulty: str | None, first: int, count: int | None
) -> list[EnvTask]:
    tasks: list[EnvTask] = []
    try:
        async with EnvClient(url) as client:
            total = (await client.tasks(environment, split, difficulty=difficulty, limit=1)).total
            if total == 0:
                raise ConfigError(
                    f"{environment} has no tasks in split {split!r} of difficulty {difficulty!r}"
                )
            wanted = total if count is None else min(count, total)
            offset = first % total
            while len(tasks) < wanted:
                limit = min(PAGE, wanted - len(tasks), total - offset)
                page = await client.tasks(
                    environment, split, difficulty=difficulty, offset=offset, limit=limit
                )
                tasks += [
                    EnvTask(t.task_id, t.split, t.kind, t.difficulty, t.instruction) for t in page.tasks
                ]
                offset = (offset + limit) % total
    except ServerProblem as problem:
        if problem.kind in ("task-not-found", "env-not-found", "validation"):
            raise ConfigError(f"{environment}, split {split!r}: {problem.detail}") from problem
        raise EnvironmentFault(problem.kind, problem.detail) from problem
    except EnvClientError as cause:
        raise TransportFault(str(cause)) from cause
    return tasks
