"""Connections to endpoints: one pool for each address and event loop, with a bound on concurrent requests."""

import asyncio
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from agentgym_envs.endpoints.records import Endpoint

if TYPE_CHECKING:
    import httpx


class Connections:
    """Pool of one address. Opening a client costs tens of milliseconds, a request less than one."""

    def __init__(self, client: "httpx.AsyncClient", concurrency: int) -> None:
        self.client = client
        self.free = asyncio.Semaphore(concurrency)


Key = tuple[str, int, "httpx.AsyncBaseTransport | None"]
_POOLS: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Key, Connections]] = WeakKeyDictionary()


def connections(endpoint: Endpoint, transport: "httpx.AsyncBaseTransport | None") -> Connections:
    """The pool of an endpoint on the running loop."""
    import httpx

    pools = _POOLS.setdefault(asyncio.get_running_loop(), {})
    most = endpoint.concurrency
    key = endpoint.base_url, most, transport
    if key not in pools:
        limits = httpx.Limits(max_connections=most, max_keepalive_connections=most)
        client = httpx.AsyncClient(timeout=None, limits=limits, transport=transport)
        pools[key] = Connections(client, most)
    return pools[key]
