"""uvicorn server with graceful shutdown: sessions may continue for a while after a stop signal."""

import asyncio
import contextlib
import signal
import socket
import sys
from types import FrameType
from typing import Protocol

import uvicorn

FAREWELL_S = 0.1
"""Time for the last responses to be sent."""


class Drainable(Protocol):
    """Interface of a service that can be drained."""

    def drain(self) -> None:
        """Refuse new sessions; open ones continue."""
        ...

    async def idle(self) -> None:
        """Wait until no session is open."""
        ...

    async def abandon(self) -> None:
        """Refuse new sessions and end the open ones, which answers all waiting callers."""
        ...


class DrainingServer(uvicorn.Server):
    """Server that prints `ready http://HOST:PORT` once it accepts requests.

    SIGTERM drains: open sessions may continue for `drain_s`; any other signal, or a second one, stops at
    once.
    """

    def __init__(self, config: uvicorn.Config, service: Drainable, drain_s: float) -> None:
        super().__init__(config)
        self._service, self._drain_s = service, drain_s
        self._draining = False
        self._drain: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept requests and print the address."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        for sock in sockets or ():
            sys.stdout.write(f"ready {address_of(sock)}\n")
        sys.stdout.flush()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Drain, or stop at once."""
        if sig != signal.SIGTERM or self._draining or self._loop is None:
            self.should_exit = True
            return
        self._draining = True
        self._service.drain()
        self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._drain = asyncio.get_running_loop().create_task(self._drained())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer all waiting callers, then close the connections."""
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
