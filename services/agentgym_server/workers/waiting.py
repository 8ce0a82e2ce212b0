"""Deadlines of coroutines, and a limit on how many of an environment run at once."""

import asyncio
import inspect
from collections.abc import Awaitable
from typing import TypeVar

ValueT = TypeVar("ValueT")


class PastDeadline(Exception):
    """A coroutine was cancelled at its deadline."""


class WaitLimit:
    """Limit on the coroutines of one environment that run at once; later ones queue in order of arrival."""

    def __init__(self, limit: int) -> None:
        self._free = asyncio.Semaphore(limit)

    async def run(self, work: Awaitable[ValueT], deadline_s: float) -> ValueT:
        """The result of `work`; the time in the queue does not count. Raises `PastDeadline`."""
        try:
            await self._free.acquire()
        except asyncio.CancelledError:
            if inspect.iscoroutine(work):
                work.close()
            raise
        try:
            return await within(deadline_s, work)
        finally:
            self._free.release()


async def within(deadline_s: float, work: Awaitable[ValueT]) -> ValueT:
    """The result of `work`; raises `PastDeadline`, but lets a `TimeoutError` of its own through."""
    limit = asyncio.timeout(deadline_s)
    try:
        async with limit:
            return await work
    except TimeoutError:
        if not limit.expired():
            raise
        raise PastDeadline(f"no answer within {deadline_s:g} s") from None
