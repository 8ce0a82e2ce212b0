"""Connections to endpoints: one pool for each address and event loop, with a bound on concurrent requests."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agentgym_envs.endpoints.records import Endpoint

if TYPE_CHECKING:
    import httpx


class Connections:
    """Clients of one address, each with one connection, of which the latest used one is taken first.

    A client with many connections looks at all of them for every request: with 64, that takes more time than
    the request.
    """

    def __init__(self, open_client: "Callable[[], httpx.AsyncClient]", concurrency: int) -> None:
        self._open = open_client
        self._free = asyncio.Semaphore(concurrency)
        self._idle: list[httpx.AsyncClient] = []

    @asynccontextmanager
    async def client(self) -> "AsyncGenerator[httpx.AsyncClient]":
        """A client that no other request uses; waits for one."""
        async with self._free:
            client = self._idle.pop() if self._idle else self._open()
            try:
                yield client
            finally:
                self._idle.append(client)


Key = tuple[str, int, "httpx.AsyncBaseTransport | None"]
_POOLS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, Connections]] = WeakKeyDictionary()


def connections(endpoint: Endpoint, transport: "httpx.AsyncBaseTransport | None") -> Connections:
    """The pool of an endpoint on the running loop."""
    pools = _POOLS.setdefault(asyncio.get_running_loop(), {})
    key = endpoint.base_url, endpoint.concurrency, transport
    if key not in pools:
        pools[key] = Connections(_opener(transport), endpoint.concurrency)
    return pools[key]


def _opener(transport: "httpx.AsyncBaseTransport | None") -> "Callable[[], httpx.AsyncClient]":
    import httpx

    if transport is not None:
        return lambda: httpx.AsyncClient(timeout=None, transport=transport)
    # Reading the certificates takes tens of milliseconds: once for all clients.
    certificates = httpx.create_ssl_context()
    limits = httpx.Limits(max_connections=1, max_keepalive_connections=1)
    return lambda: httpx.AsyncClient(timeout=None, verify=certificates, limits=limits)
