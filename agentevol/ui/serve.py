"""Server of the web pages."""

import sys
from collections.abc import Sequence
from pathlib import Path

import uvicorn

from agentevol.ui.app import create_app
from agentevol.ui.settings import UiSettings
from agentgym_server.draining import address_of
from agentgym_server.serve import CannotServe, listening_socket, refuse, run
from agentgym_server.settings import is_loopback

GRACE_S = 2
"""Seconds that requests may take to end after a signal."""


def serve(
    paths: Sequence[Path | str], host: str, port: int, *, anyone: bool = False, read_only: bool = False
) -> int:
    """Serve until a signal; prints `ready http://HOST:PORT` first. Returns the exit code.

    `anyone` allows an address beyond loopback, where everybody who can reach it can read, and unless
    `read_only` also play and judge.
    """
    try:
        if not is_loopback(host) and not anyone:
            raise CannotServe(
                f"{host} is reachable from other machines, and the pages have no password: forward a port"
                " (ssh -L), or give --insecure-no-auth if everybody may use them (with --read-only: may read)"
            )
        sock = listening_socket(host, port)
    except CannotServe as cause:
        return refuse(str(cause))
    names = frozenset({host.lower()})
    app = create_app(UiSettings(tuple(paths), host, names, read_only=read_only))
    config = uvicorn.Config(
        app,
        lifespan="on",
        ws="none",
        access_log=False,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    with sock:
        sys.stdout.write(f"ready {address_of(sock)}\n")
        sys.stdout.flush()
        try:
            run(_served(uvicorn.Server(config), [sock]))
        except KeyboardInterrupt:  # uvicorn raises the signal again once it has stopped
            return 0
    return 0


async def _served(server: uvicorn.Server, sockets: list) -> int:
    await server.serve(sockets)
    return 0
