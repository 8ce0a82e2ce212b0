"""Asynchronous writer of finished episodes: concurrent ones are appended to the table in one commit."""

import asyncio
import secrets
from collections.abc import Sequence
from pathlib import Path

from agentgym_store.errors import StoreError
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where


class Table:
    """Writer that appends off the event loop, one commit at a time."""

    def __init__(self, path: Path | str, run: str) -> None:
        """Open the table, or create it. Raises `StoreError`."""
        self.run = run
        self.path = path
        self._store = Store.open(path)
        self._life = secrets.token_hex(8)
        self._commits = 0
        self._waiting: list[tuple[Trajectory, asyncio.Future[int]]] = []
        self._writer: asyncio.Task[None] | None = None

    def attempts(self) -> dict[tuple[str, str, int], int]:
        """Number of earlier episodes of this run by environment, task and iteration."""
        frame = self._store.scan(Where(run=self.run)).group_by("env", "task_id", "iteration").len().collect()
        return {(env, task, iteration): count for env, task, iteration, count in frame.iter_rows()}

    async def append(self, trajectory: Trajectory) -> int:
        """The table's version once the episode is in it. Raises `StoreError`."""
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting.append((trajectory, done))
        if self._writer is None or self._writer.done():
            self._writer = asyncio.create_task(self._write())
        return await asyncio.shield(done)

    async def _write(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                await self._commit(batch)
            except StoreError as cause:
                await self._one_by_one(batch, cause)

    async def _one_by_one(
        self, batch: Sequence[tuple[Trajectory, "asyncio.Future[int]"]], cause: StoreError
    ) -> None:
        """Append episodes one by one, so that one that cannot be stored does not fail the others."""
        if len(batch) == 1:
            _settle(batch[0][1], cause)
            return
        for one in batch:
            try:
                await self._commit([one])
            except StoreError as reason:
                _settle(one[1], reason)

    async def _commit(self, batch: Sequence[tuple[Trajectory, "asyncio.Future[int]"]]) -> None:
        self._commits += 1
        key = {"run": self.run, "service": self._life, "commit": str(self._commits)}
        episodes = [trajectory for trajectory, _ in batch]
        version = await asyncio.to_thread(self._store.append, episodes, commit=key)
        for _, done in batch:
            _settle(done, version)


def _settle(done: "asyncio.Future[int]", result: int | StoreError) -> None:
    if done.done():
        return
    if isinstance(result, StoreError):
        done.set_exception(result)
    else:
        done.set_result(result)
