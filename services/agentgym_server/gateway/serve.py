"""Runner of a gateway, alone or with the servers behind it as child processes.

Both print `ready http://HOST:PORT` once every configured server responds. With children, SIGTERM refuses new
sessions and lets open ones continue for a while; alone, it lets running requests finish, since sessions live
elsewhere. SIGINT, or a second signal, stops at once.
"""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import Callable, Coroutine, Generator, Sequence
from typing import Any

import uvicorn

from agentgym_server.draining import address_of
from agentgym_server.gateway.app import application
from agentgym_server.gateway.backends.discovery import Source
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.supervisor import Role, Supervisor
from agentgym_server.monitoring.logs import configure
from agentgym_server.serve import (
    CannotServe,
    check_exposure,
    listening_socket,
    refuse,
    run,
    uvicorn_config,
)
from agentgym_server.settings import ServerSettings

Main = Callable[[socket.socket], Coroutine[Any, Any, int]]
Stop = Callable[[], object]


def serve_gateway(sources: Sequence[Source], host: str, port: int, settings: ServerSettings) -> int:
    """Serve in front of these servers, and return the exit code.

    `host` is the address to bind; `settings.host` is the address that callers use, which decides if a token
    is needed. They differ in a container, whose port is published elsewhere.
    """
    return _bound(host, port, settings, lambda sock: _alone(sources, sock, settings))


def serve_children(roles: Sequence[Role], port: int, settings: ServerSettings) -> int:
    """Start these servers, serve in front of them, and return the exit code."""
    return _bound(settings.host, port, settings, lambda sock: _with_children(roles, sock, settings))


def _bound(host: str, port: int, settings: ServerSettings, main: Main) -> int:
    try:
        check_exposure(settings)
        with listening_socket(host, port) as sock:
            configure(settings.log_level)
            return run(main(sock))
    except CannotServe as cause:
        return refuse(str(cause))


async def _alone(sources: Sequence[Source], sock: socket.socket, settings: ServerSettings) -> int:
    gateway = Gateway(sources, settings)
    server = GatewayServer(uvicorn_config(application(gateway), settings))
    with _signals(server.stop, server.stop_now):
        await _serve(gateway, server, sock)
    return 0


async def _with_children(roles: Sequence[Role], sock: socket.socket, settings: ServerSettings) -> int:
    supervisor = Supervisor(roles, settings)
    gateway = Gateway(supervisor.children, settings)
    gateway.fleet.on_loss = supervisor.replace
    server = GatewayServer(uvicorn_config(application(gateway), settings))
    tasks: list[asyncio.Task[None]] = []

    async def drain() -> None:
        gateway.fleet.draining = True
        await supervisor.drain()
        server.stop()

    def stop_now() -> None:
        supervisor.kill()
        server.stop_now()

    try:
        with _signals(lambda: tasks.append(asyncio.create_task(drain())), stop_now):
            await _serve(gateway, server, sock, supervisor)
    finally:
        supervisor.kill()
        await supervisor.drain()
    return 0


async def _serve(
    gateway: Gateway, server: "GatewayServer", sock: socket.socket, supervisor: Supervisor | None = None
) -> None:
    """Serve until the server is told to stop; raises `CannotServe` if a child does not start."""
    serving = asyncio.create_task(server.serve([sock]))
    telling = asyncio.create_task(_tell(gateway, sock, supervisor))
    try:
        await asyncio.wait((serving, telling), return_when=asyncio.FIRST_COMPLETED)
        if telling.done():
            telling.result()
        await serving
    finally:
        server.stop_now()
        telling.cancel()
        await asyncio.gather(serving, telling, return_exceptions=True)
        await gateway.close()


async def _tell(gateway: Gateway, sock: socket.socket, supervisor: Supervisor | None) -> None:
    """Print the gateway's address once every server responds."""
    if supervisor is not None:
        await supervisor.start()
    gateway.watch.start()
    await gateway.watch.complete.wait()
    sys.stdout.write(f"ready {address_of(sock)}\n")
    sys.stdout.flush()


class GatewayServer(uvicorn.Server):
    """uvicorn server without signal handlers of its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Capture no signals."""
        yield

    def stop(self) -> None:
        """Finish running requests, then stop."""
        self.should_exit = True

    def stop_now(self) -> None:
        """Stop at once."""
        self.should_exit = self.force_exit = True


@contextlib.contextmanager
def _signals(gently: Stop, at_once: Stop) -> Generator[None]:
    """Install handlers: the first SIGTERM stops gracefully; SIGINT, or a second signal, at once."""
    loop, heard = asyncio.get_running_loop(), list[int]()

    def handle(number: int) -> None:
        heard.append(number)
        (gently if heard == [signal.SIGTERM] else at_once)()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, handle, number)
    try:
        yield
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)
