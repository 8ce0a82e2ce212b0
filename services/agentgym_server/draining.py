"""A uvicorn server whose sessions may go on for a while when it is told to stop."""

import asyncio
import contextlib
import signal
import socket
import sys
from types import FrameType
from typing import Protocol

import uvicorn

FAREWELL_S = 0.1
"""Time for the last answers to get onto their connections."""


class Drainable(Protocol):
    """What is served."""

    def drain(self) -> None:
        """Take no new sessions; open ones go on."""
        ...

    async def idle(self) -> None:
        """Wait until no session is open."""
        ...

    async def abandon(self) -> None:
        """Take no new sessions, and end those that are open, which answers whoever waits."""
        ...


class DrainingServer(uvicorn.Server):
    """Prints `ready http://HOST:PORT` when it answers. SIGTERM drains: open sessions may go on for `drain_s`;
    anything else, or a second signal, stops at once.
    """

    def __init__(self, config: uvicorn.Config, service: Drainable, drain_s: float) -> None:
        super().__init__(config)
        self._service, self._drain_s = service, drain_s
        self._draining = False
        self._drain: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for sock in sockets or ():
            sys.stdout.write(f"ready {address_of(sock)}\n")
        sys.stdout.flush()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain, or stop."""
        if sig != signal.SIGTERM or self._draining or self._loop is None:
            self.should_exit = True
            return
        self._draining = True
        self._service.drain()
        self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._drain = asyncio.get_running_loop().create_task(self._drained())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Tell whoever still waits, then close the connections."""
        await self._service.abandon()
        await asyncio.sleep(FAREWELL_S)
        await super().shutdown(sockets)

    async def _drained(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._service.idle(), self._drain_s)
        self.should_exit = True


def address_of(sock: socket.socket) -> str:
    """The URL of a bound socket."""
    host, port = sock.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
