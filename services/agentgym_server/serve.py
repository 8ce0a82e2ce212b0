"""Runner of an environment server.

`serve` prints `ready http://HOST:PORT` once sessions may be created. SIGTERM drains: new sessions are
refused, open ones may continue for a while; SIGINT, or a second signal, stops at once.
"""

import asyncio
import functools
import logging
import socket
import sys
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp
from uvicorn.loops.auto import auto_loop_factory

from agentgym_envs.core import Environment
from agentgym_server.app import create_app, service_of
from agentgym_server.connections import FrameGuard, http_protocol
from agentgym_server.draining import DrainingServer
from agentgym_server.monitoring.logs import configure
from agentgym_server.settings import ServerSettings
from agentgym_server.workers.fork_server import WorkerStartFailed

GRACE_S = 5
"""Time for connections to close; their sessions have failed by then."""


class CannotServe(RuntimeError):
    """The server cannot start; the text is one line: the reason, and the remedy."""


def serve(
    host: str = "127.0.0.1",
    port: int = 8000,
    names: Sequence[str] | None = None,
    options: Mapping[str, Mapping[str, Any]] | None = None,
    workers: int | None = None,
    settings: ServerSettings | None = None,
) -> int:
    """Serve the registered environments of these names (None: all) and return the exit code.

    `options`: keyword arguments by environment. `host` and `workers` override those of `settings`. Port 0
    takes a free one.
    """
    chosen = (settings or ServerSettings()).model_copy(update={"host": host, "workers": workers})
    try:
        factories = registered(names, options or {})
    except LookupError as cause:
        return refuse(str(cause.args[0] if cause.args else cause))
    return serve_environments(factories, port, chosen)


def registered(
    names: Sequence[str] | None, options: Mapping[str, Mapping[str, Any]]
) -> dict[str, Callable[[], Environment[Any]]]:
    """Factories of registered environments; raises `LookupError` for an unknown name."""
    from agentgym_envs import registry

    known = list(registry.names())
    for name in [*(names or ()), *options]:
        if name not in known:
            raise LookupError(f"no environment named {name!r}; there are: {', '.join(known)}")
    chosen = known if names is None else list(names)
    return {name: functools.partial(registry.make, name, **options.get(name, {})) for name in chosen}


def serve_environments(
    environments: Mapping[str, Callable[[], Environment[Any]]], port: int, settings: ServerSettings
) -> int:
    """Serve until a signal; the exit code is 0, or 1 with one line on standard error."""
    try:
        check_exposure(settings)
        sock = listening_socket(settings.host, port)
    except CannotServe as cause:
        return refuse(str(cause))
    with sock:
        try:
            app = create_app(environments, settings=settings)
        except Exception as cause:  # an environment may raise anything while it loads its data
            logging.getLogger(__name__).debug("an environment cannot be built", exc_info=cause)
            return refuse(f"an environment cannot be built: {type(cause).__name__}: {cause}")
        return _run(app, sock, settings)


def check_exposure(settings: ServerSettings) -> None:
    """Refuse an address beyond loopback without a token."""
    if not settings.loopback and not settings.authenticated and not settings.insecure_no_auth:
        raise CannotServe(
            f"{settings.host} is reachable from other machines: set AGENTEVOL_TOKEN or give --token-file "
            "(or --insecure-no-auth, if everybody may use it)"
        )


def listening_socket(host: str, port: int) -> socket.socket:
    """A bound socket; raises `CannotServe` if the address is not available."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        sock = socket.socket(family, kind, protocol)
    except OSError as cause:
        raise CannotServe(f"cannot listen on {host}:{port}: {cause.strerror or cause}") from None
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
        sock.listen(2048)
    except (OSError, OverflowError) as cause:
        sock.close()
        reason = getattr(cause, "strerror", None) or cause
        raise CannotServe(
            f"cannot listen on {host}:{port}: {reason}; choose another port (0 takes a free one)"
        ) from None
    sock.setblocking(False)
    return sock


def refuse(reason: str) -> int:
    """Print in one line why serving is refused; returns the exit code."""
    sys.stderr.write(f"error: {' '.join(reason.split())}\n")
    return 1


def uvicorn_config(app: ASGIApp, settings: ServerSettings) -> uvicorn.Config:
    """uvicorn configuration with the limits of these settings."""
    return uvicorn.Config(
        app,
        http=http_protocol(settings),
        ws=FrameGuard,
        ws_max_size=settings.max_frame_bytes,
        ws_ping_interval=20.0,
        ws_ping_timeout=40.0,
        ws_per_message_deflate=False,
        lifespan="off",
        access_log=False,
        log_config=None,
        log_level="warning",
        server_header=False,
        date_header=False,
        timeout_keep_alive=int(settings.keep_alive_s),
        timeout_graceful_shutdown=GRACE_S,
    )


def run(main: Coroutine[Any, Any, int]) -> int:
    """Run a coroutine to its end on the fastest event loop that is installed."""
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        return runner.run(main)


def _run(app: FastAPI, sock: socket.socket, settings: ServerSettings) -> int:
    configure(settings.log_level)
    try:
        return run(_live(app, sock, settings))
    except KeyboardInterrupt:  # uvicorn raises the signal again once it has stopped
        return 0


async def _live(app: FastAPI, sock: socket.socket, settings: ServerSettings) -> int:
    service = service_of(app)
    server = DrainingServer(uvicorn_config(app, settings), service, settings.drain_s)
    try:
        await service.start()
        await server.serve([sock])
    except WorkerStartFailed as cause:
        return refuse(f"a worker did not start: {cause}")
    finally:
        await service.close()
    return 0
