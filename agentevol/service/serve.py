"""Run a policy service until it is told to stop.

`serve` prints `ready http://HOST:PORT` once it answers. SIGTERM drains: no new sessions, open ones may go on
for a while; SIGINT, or a second signal, stops at once. What is open then is put into the table as failed.
"""

import asyncio
import contextlib
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn
from prometheus_client import disable_created_metrics

from agentevol.config.sections import EngineConfig
from agentevol.engines.choice import start_engine
from agentevol.engines.tokens import TokenEngine
from agentevol.models import resolve
from agentevol.protocols import Checkpoint
from agentevol.service.app import App
from agentevol.service.service import Service
from agentevol.service.settings import ServiceSettings
from agentevol.service.table import Table
from agentgym_server.logs import configure
from agentgym_server.serve import (
    FAREWELL_S,
    CannotServe,
    address_of,
    check_exposure,
    listening_socket,
    refuse,
    run,
    uvicorn_config,
)


def serve(model: str, engine: EngineConfig, out: Path | None, port: int, settings: ServiceSettings) -> int:
    """Serve until a signal; the exit code. Raises `ConfigError` and `StoreError` before it begins."""
    try:
        check_exposure(settings.server)
        sock = listening_socket(settings.server.host, port)
    except CannotServe as cause:
        return refuse(str(cause))
    disable_created_metrics()
    with sock:
        checkpoint = resolve(model)
        table = None if out is None else Table(out, settings.run)
        started = start_engine(engine, checkpoint)
        configure(settings.server.log_level)
        try:
            return run(_live(started, checkpoint, table, sock, settings))
        except KeyboardInterrupt:  # uvicorn hands the signal on once it has stopped
            return 0
        finally:
            started.close()


async def _live(
    engine: TokenEngine,
    checkpoint: Checkpoint,
    table: Table | None,
    sock: socket.socket,
    settings: ServiceSettings,
) -> int:
    service = Service(engine, checkpoint, table, settings)
    service.start()
    server = PolicyServer(uvicorn_config(App(service), settings.server), service, settings.server.drain_s)
    try:
        await server.serve([sock])
    finally:
        await service.shut()
    return 0


class PolicyServer(uvicorn.Server):
    """A server that lets open sessions go on for a while when it is told to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, drain_s: float) -> None:
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
        """SIGTERM drains; anything else, or a second signal, stops at once."""
        if sig != signal.SIGTERM or self._draining or self._loop is None:
            self.should_exit = True
            return
        self._draining = True
        self._service.drain()
        self._loop.call_soon_threadsafe(self._begin_drain)

    def _begin_drain(self) -> None:
        self._drain = asyncio.get_running_loop().create_task(self._drained())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is open, which answers whoever waits, then close the connections."""
        await self._service.shut()
        await asyncio.sleep(FAREWELL_S)
        await super().shutdown(sockets)

    async def _drained(self) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._service.idle(), self._drain_s)
        self.should_exit = True
