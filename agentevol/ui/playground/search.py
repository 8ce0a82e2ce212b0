"""Search among the tasks of a split.

There is no index, and a split may have millions of tasks that are made when they are read. A search reads
them in their order, bounded in time; what it has found by then is shown, and it goes on where it stopped when
its page is asked for again.
"""

import asyncio
import time
from dataclasses import dataclass
from typing import TypeGuard

from agentevol.ui.playground.tasks import listed, needs_place, size_of, with_id
from agentgym_client import EnvClient
from agentgym_client.records import EnvironmentInfo, TaskInfo

MOST_SHOWN = 50
"""Tasks of a page."""
FIRST = 16
"""Tasks of the first request; later ones have as many as are read in `REQUEST_S`."""
MOST = 1000
REQUEST_S = 0.1


@dataclass(frozen=True)
class TaskList:
    """A page of tasks, as far as it has come."""

    split: str
    found: tuple[TaskInfo, ...]
    total: int
    """Tasks of the split."""
    start: int = 0
    """Place from which tasks were looked at, from 0."""
    read: int = 0
    """Place up to which they were."""
    is_over: bool = True
    """True if the page is full or the split has no more tasks."""
    is_exact: bool = False
    """True if the text is the id of the only task."""
    elsewhere: TaskInfo | None = None
    """The task of another split whose id is the text."""

    @property
    def next(self) -> int | None:
        """Start of the next page; None if this is the last one."""
        return self.read if self.is_over and not self.is_exact and self.read < self.total else None


class TaskSearch:
    """One page of a search for tasks whose id, instruction, kind or difficulty contains a text, in any case.

    Raises `NotFound` for an unknown split.
    """

    def __init__(self, info: EnvironmentInfo, split: str, text: str, start: int) -> None:
        self._info, self._split, self._text = info, split, text
        self._lowered = text.lower()
        self._total = size_of(info, split)
        self._start = min(start, self._total)
        self._read = self._start
        self._found: list[TaskInfo] = []
        self._size = FIRST
        self._with_id: TaskInfo | None = None
        self._has_looked_up = not text
        self._lock = asyncio.Lock()

    async def advance(self, client: EnvClient, seconds: float, *, others: bool = False) -> TaskList:
        """Search on for about this time; where the text is an id, its task alone unless `others`.

        Raises `CannotPlay`.
        """
        async with self._lock:
            if not self._has_looked_up:
                self._with_id = await with_id(client, self._info, self._text)
                self._has_looked_up = True
            if not others and self._is_here(self._with_id):
                return TaskList(self._split, (self._with_id,), self._total, is_exact=True)
            end = time.monotonic() + seconds
            while not self._is_over:
                await self._read_on(client)
                if time.monotonic() >= end:
                    break
            return self._so_far()

    @property
    def _is_over(self) -> bool:
        return len(self._found) >= MOST_SHOWN or self._read >= self._total

    def _is_here(self, task: TaskInfo | None) -> TypeGuard[TaskInfo]:
        """True if a task can be played without knowing its place."""
        if task is None or task.split != self._split:
            return False
        return task.index is not None or not needs_place(self._info.splits, self._split)

    async def _read_on(self, client: EnvClient) -> None:
        began = time.monotonic()
        left = MOST_SHOWN - len(self._found)
        limit = min(self._size, MOST if self._text else left)
        rows = await listed(client, self._info, self._split, self._read, limit)
        for row in rows:
            self._read += 1
            if self._lowered in _words(row):
                self._found.append(row)
            if self._is_over:
                break
        if not rows:
            self._read = self._total  # it has fewer tasks than it said
        self._size = next_size(len(rows), time.monotonic() - began)

    def _so_far(self) -> TaskList:
        elsewhere = self._with_id
        return TaskList(
            self._split,
            tuple(self._found),
            self._total,
            self._start,
            self._read,
            self._is_over,
            elsewhere=elsewhere if elsewhere is not None and elsewhere.split != self._split else None,
        )


def next_size(count: int, seconds: float) -> int:
    """Tasks of the next request, after `count` of them took this time: at most four times as many."""
    return max(1, min(MOST, 4 * count, int(count * REQUEST_S / max(seconds, 1e-6))))


def _words(task: TaskInfo) -> str:
    return "\n".join((task.task_id, task.instruction, task.kind, task.difficulty)).lower()
