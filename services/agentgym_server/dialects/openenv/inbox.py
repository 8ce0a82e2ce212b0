"""Ordered queue of the frames of one socket, which reports a disconnect while other work is awaited."""

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import Any, TypeVar

from starlette.types import Message, Receive

MAX_EARLY = 8
"""Maximum number of frames that are read ahead; beyond, the client's own buffers fill."""
ResultT = TypeVar("ResultT")


class Gone(Exception):
    """The connection ended."""


class Inbox:
    """Receive queue of one socket."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._early: deque[Message] = deque()
        self._reading: asyncio.Future[Message] | None = None

    async def next(self) -> str | None:
        """The next text frame, None for a binary one; raises `Gone`."""
        if self._early:
            message = self._early.popleft()
        elif self._reading is not None:
            message = await self._reading
            self._reading = None
        else:
            message = await self._receive()
        if message["type"] != "websocket.receive":
            raise Gone
        return message.get("text")

    async def awaiting(self, work: Awaitable[ResultT]) -> ResultT:
        """The result of `work`; raises `Gone`, and cancels it, if the connection ends first."""
        task = asyncio.ensure_future(work)
        try:
            while not task.done():
                await self._watch(task)
            return task.result()
        finally:
            task.cancel()

    def close(self) -> None:
        """Stop reading."""
        if self._reading is not None:
            self._reading.cancel()

    async def _watch(self, task: asyncio.Future[Any]) -> None:
        """Wait for the task or for one message."""
        if len(self._early) >= MAX_EARLY:
            await asyncio.wait([task])
            return
        if self._reading is None:
            self._reading = asyncio.ensure_future(self._receive())
        await asyncio.wait([task, self._reading], return_when=asyncio.FIRST_COMPLETED)
        if self._reading.done():
            message, self._reading = self._reading.result(), None
            if message["type"] != "websocket.receive" and not task.done():
                raise Gone
            self._early.append(message)  # a completed result is kept
