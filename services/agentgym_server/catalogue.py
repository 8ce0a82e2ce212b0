"""Catalogue of a server: its environments, their schemas and tasks, without answers or goals."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym_envs.core import Environment, Task, TaskNotFound, TaskUnplayable
from agentgym_envs.formats import FORMATS
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.requests import invalid
from agentgym_server.workers.hosts import Factory

SUMMARY_CHARS = 120
DEFAULT_FORMAT = "plain"


@dataclass(frozen=True)
class Page:
    """Selection of the tasks to list."""

    split: str | None = None
    difficulty: str | None = None
    offset: int = 0
    limit: int = 100
    task_id: str | None = None
    """List the task with this id alone; it has to be of the split and difficulty, if these are given."""


@dataclass(eq=False)
class ServedEnvironment:
    """Catalogue entry of one environment; its instance plays no episodes."""

    name: str
    environment: Environment[Any]
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    entry: dict[str, Any] | None = None


class Catalogue:
    """Environments by name. Tasks are listed in a thread, since a lazy sequence may have to generate them."""

    def __init__(self, factories: Mapping[str, Factory], settings: ServerSettings) -> None:
        self._settings = settings
        self.served = {name: ServedEnvironment(name, factory()) for name, factory in factories.items()}

    def of(self, env: str) -> ServedEnvironment:
        """One environment; raises the problem `env-not-found`."""
        served = self.served.get(env)
        if served is None:
            names = ", ".join(self.served)
            raise Problem(
                "env-not-found", f"no environment has this name; there are: {names}", env=clipped(env)
            )
        return served

    async def entries(self) -> list[dict[str, Any]]:
        """The list of environments."""
        return [await self.entry(name) for name in self.served]

    async def entry(self, env: str) -> dict[str, Any]:
        """One entry of the list."""
        served = self.of(env)
        async with served.lock:
            if served.entry is None:
                served.entry = await asyncio.to_thread(_entry, served)
        return served.entry

    def schema(self, env: str) -> dict[str, Any]:
        """Action formats and reply members of an environment."""
        served = self.of(env)
        instruction = FORMATS["react"].instruction(served.name)
        kinds = ["text", "tool_call", "completion"]
        return {
            "env": served.name,
            "action": {
                "kinds": kinds,
                "formats": list(FORMATS),
                "max_chars": self._settings.max_action_chars,
            },
            "tools": served.environment.tools,
            "info_keys": {
                "available_actions": "array of strings, optional",
                "invalid_action": "boolean, optional",
                "tools": "array of objects, optional: only where they changed",
                "truncation_reason": "string, only where truncated",
            },
            "prompt": {
                "conversation_start": [
                    {"from": "human", "loss": None, "value": instruction},
                    {"from": "gpt", "loss": False, "value": "Ok."},
                ]
            },
            "observation": {"type": "string"},
        }

    async def tasks(self, env: str, page: Page) -> dict[str, Any]:
        """One page of tasks; raises the problems `task-not-found` (the split or the task), `validation`, and
        `unsupported-operation` for a split that an option forbids.
        """
        served = self.of(env)
        if page.task_id is not None:
            return await self._task(served, page.task_id, page)
        async with served.lock:
            try:
                total, rows = await asyncio.to_thread(_page, served.environment, page)
            except TaskNotFound as cause:
                text = _no_split(served.environment, cause)
                raise Problem("task-not-found", text, split=clipped(page.split or "")) from None
            except TaskUnplayable as cause:
                raise Problem("unsupported-operation", str(cause), split=clipped(page.split or "")) from None
            except ValueError:
                known = ", ".join(served.environment.difficulties) or "none"
                raise invalid(("/difficulty", f"must be one of: {known}")) from None
        return {
            "env": env,
            "split": page.split,
            "offset": page.offset,
            "limit": page.limit,
            "total": total,
            "tasks": rows,
        }

    async def _task(self, served: ServedEnvironment, task_id: str, page: Page) -> dict[str, Any]:
        shown = clipped(task_id)
        async with served.lock:
            try:
                row = await asyncio.to_thread(_found, served.environment, task_id)
            except TaskNotFound:
                raise Problem("task-not-found", "no task has this id", task_id=shown) from None
            except TaskUnplayable as cause:
                raise Problem("unsupported-operation", str(cause), task_id=shown) from None
        for name, wanted in (("split", page.split), ("difficulty", page.difficulty)):
            if wanted not in (None, row[name]):
                raise Problem("task-not-found", f"the task with this id is of another {name}", task_id=shown)
        rows = [row][page.offset : page.offset + page.limit]
        whole = {"offset": page.offset, "limit": page.limit, "total": 1}
        return {"env": served.name, "split": page.split, **whole, "tasks": rows}

    async def drawn(self, env: str, splits: Sequence[str], seed: int) -> int:
        """`Environment.draw`; raises the problem `task-not-found`."""
        served = self.of(env)
        async with served.lock:
            try:
                return await asyncio.to_thread(served.environment.draw, splits, seed)
            except TaskNotFound as cause:
                raise Problem("task-not-found", str(cause)) from None

    def close(self) -> None:
        """Free the instances."""
        for served in self.served.values():
            served.environment.close()


def _no_split(environment: Environment[Any], cause: TaskNotFound) -> str:
    """The environment's own message, if it lists splits: it may have more names, and say how to get data."""
    told = str(cause)
    if any(split in told for split in environment.splits):
        return told
    return "no split has this name; there are: " + ", ".join(environment.splits)


def _entry(served: ServedEnvironment) -> dict[str, Any]:
    environment = served.environment
    return {
        "env": served.name,
        "version": environment.version,
        "data_version": environment.data_version,
        "splits": {split: len(environment.tasks(split)) for split in environment.splits},
        "default_max_turns": environment.max_turns,
        "deterministic": environment.deterministic,
        "difficulties": list(environment.difficulties),
        "capabilities": {
            "fork": fork_capability(environment),
            "tools": environment.tools is not None or environment.changing_tools,
            "multi_agent": bool(environment.seats),
        },
        "reward_range": list(environment.reward_range),
        "seats": list(environment.seats),
    }


def fork_capability(environment: Environment[Any]) -> str:
    """`any` turn where actions can be played again, `current` where there are only snapshots, or `none`."""
    if environment.deterministic:
        return "any"
    return "current" if environment.forkable else "none"


def _page(environment: Environment[Any], page: Page) -> tuple[int, list[dict[str, Any]]]:
    splits = environment.splits if page.split is None else (page.split,)
    rows: list[dict[str, Any]] = []
    total = 0
    for split in splits:
        tasks: Sequence[Task] = environment.tasks(split, page.difficulty)
        first = max(0, page.offset - total)
        room = page.limit - len(rows)
        last = min(len(tasks), first + room)
        rows += [_row(tasks[index], split, index) for index in range(first, last)]
        total += len(tasks)
    return total, rows


def _found(environment: Environment[Any], task_id: str) -> dict[str, Any]:
    """Row of the task with this id. Its index is not looked for among tasks that are made on access."""
    task: Task = environment.task(task_id)
    tasks: Sequence[Task] = environment.tasks(task.split)
    ids = () if isinstance(tasks, LazySequence) else (one.id for one in tasks)
    return _row(task, task.split, next((index for index, one in enumerate(ids) if one == task_id), None))


def _row(task: Task, split: str, index: int | None) -> dict[str, Any]:
    return {
        "task_id": task.id,
        "split": split,
        "index": index,
        "summary": " ".join(task.instruction.split())[:SUMMARY_CHARS],
        "kind": task.kind,
        "difficulty": task.difficulty,
        "instruction": task.instruction,
    }
