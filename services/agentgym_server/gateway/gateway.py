"""Gateway as an ASGI application, and the endpoints that it answers itself.

    gate (auth, limits) -> ENDPOINTS below             /health, /ready, /envs, /metrics, /batch
                        -> Switchboard                 /ws
                        -> Forwarder                   everything else
    all three           -> Delivery -> Backend of the Fleet, which the Watch keeps up to date

Every session id names its server. SessionRecords answers only for sessions whose server was lost.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from agentgym_server.clock import Clock
from agentgym_server.gateway.delivery import Homes
from agentgym_server.gateway.exposition import own, summed
from agentgym_server.gateway.fleet import Backend, Fleet
from agentgym_server.gateway.forwarder import Forwarder
from agentgym_server.gateway.queues import Queues
from agentgym_server.gateway.records import SessionRecords
from agentgym_server.gateway.routing import Request
from agentgym_server.gateway.sources import Source
from agentgym_server.gateway.switchboard import HttpLines, SocketLines, Switchboard
from agentgym_server.gateway.upstream import HttpUpstream, Lost, Undelivered, Upstream
from agentgym_server.gateway.watch import Watch
from agentgym_server.lanes.auth import Scope
from agentgym_server.lanes.endpoints import UNAVAILABLE, Call, Endpoint
from agentgym_server.lanes.gate import MOUNTS, Gate
from agentgym_server.lanes.limits import Bucket
from agentgym_server.lanes.websocket import Lane
from agentgym_server.metrics import CONTENT_TYPE, Metrics
from agentgym_server.reply import Headers, Reply, json_reply
from agentgym_server.requests import BatchRequest
from agentgym_server.service import API_VERSION, release
from agentgym_server.settings import ServerSettings


class Gateway:
    """State that the endpoints, the WebSocket lane and the forwarder share."""

    def __init__(
        self,
        sources: Sequence[Source],
        settings: ServerSettings,
        upstream: Upstream | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`upstream` carries requests to servers; None: over HTTP."""
        self.settings = settings
        self.clock = Clock(now)
        self.metrics = Metrics()
        self.upstream = upstream or HttpUpstream()
        self.fleet = Fleet()
        self.watch = Watch(self.fleet, self.upstream, sources, settings.token or settings.trainer_token)
        self.homes = Homes(self.clock, settings.idempotency_s)
        self.records = SessionRecords(self.clock)
        self.queues = Queues(self.fleet, self.watch)
        self._started_at = self.clock.now()

    async def close(self) -> None:
        """Stop polling and close the connections."""
        await self.watch.close()
        await self.upstream.close()

    @property
    def status(self) -> str:
        """`healthy`; `degraded` while a server is missing or is not healthy itself; or `draining`."""
        if self.fleet.draining:
            return "draining"
        sound = all(backend.status == "healthy" for backend in self.fleet.living)
        return "healthy" if self.fleet.complete and self.watch.whole and sound else "degraded"

    async def health(self) -> dict[str, Any]:
        """Current health of all servers together."""
        await self.watch.refresh()
        told = [backend.health for backend in self.fleet.living]
        return {
            "status": self.status,
            "api_version": API_VERSION,
            "server": f"agentevol/{release()}",
            "uptime_s": round(self.clock.now() - self._started_at, 3),
            **{
                name: _added([health.get(name, {}) for health in told])
                for name in ("sessions", "workers", "finished")
            },
            "created": sum(health.get("created", 0) for health in told),
            "servers": [
                {
                    "name": backend.name,
                    "instance": backend.tag,
                    "status": backend.status,
                    "sessions": backend.health.get("sessions", {}),
                }
                for backend in self.fleet.living
            ],
        }

    async def environments(self) -> dict[str, Any]:
        """Every environment that a server offers."""
        return {"envs": [entry for _, entry in sorted(self.fleet.entries.items())]}

    async def exposition(self, headers: Headers) -> bytes:
        """The metrics of all servers together, and the gateway's own."""
        request = Request("GET", "/metrics", "/metrics", b"", headers)
        told = await asyncio.gather(*(self._metrics_of(one, request) for one in self.fleet.living))
        return (summed(filter(None, told)) + own(self)).encode()

    async def _metrics_of(self, backend: Backend, request: Request) -> str:
        try:
            reply = await backend.exchange(self.upstream, request)
        except (Undelivered, Lost):
            return ""  # the server is lost, and its counters with it
        return reply.body.decode() if reply.status == 200 else ""


def application(gateway: Gateway) -> ASGIApp:
    """The gateway as an ASGI application; `gateway.watch.start()` and `gateway.close()` are the caller's."""

    async def connect(caller: Scope, bucket: Bucket, scope: AsgiScope, receive: Receive, send: Send) -> None:
        lines = SocketLines(gateway, token_of(dict(scope["headers"])))
        board = Switchboard(gateway, lines, caller)
        try:
            await Lane(gateway, board.answer, bucket, send).run(scope, receive)
        finally:
            await lines.close()

    return Gate(Forwarder(gateway), gateway, ENDPOINTS, connect, (*MOUNTS, "/envs"))


async def health(gateway: Gateway, call: Call) -> Reply:
    """Liveness; unauthenticated callers get the status only."""
    return await _health(gateway, call, 503 if gateway.fleet.draining else 200)


async def ready(gateway: Gateway, call: Call) -> Reply:
    """Readiness: every configured server has been reached."""
    return await _health(gateway, call, 200 if gateway.fleet.complete and not gateway.fleet.draining else 503)


async def environments(gateway: Gateway, call: Call) -> Reply:  # noqa: ARG001 - a handler
    """Every environment."""
    return json_reply(await gateway.environments())


async def metrics(gateway: Gateway, call: Call) -> Reply:
    """Metrics of the servers and the gateway, for Prometheus."""
    return Reply(200, await gateway.exposition(token_of(call.headers)), content_type=CONTENT_TYPE)


async def many(gateway: Gateway, call: Call) -> Reply:
    """Execute many operations."""
    lines = HttpLines(gateway, token_of(call.headers))
    return await Switchboard(gateway, lines, call.scope or "agent").batch(call.body)


def token_of(headers: Any) -> Headers:
    """The caller's own token, which is passed on to servers."""
    token = headers.get(b"authorization")
    return () if token is None else ((b"authorization", token),)


ENDPOINTS: tuple[Endpoint[Gateway], ...] = (
    Endpoint("GET", "/health", health, "Liveness and capacity", open=True, scope="agent"),
    Endpoint("GET", "/ready", ready, "Readiness", open=True, scope="agent"),
    Endpoint("GET", "/envs", environments, "List of environments"),
    Endpoint("POST", "/batch", many, "Many operations", body=BatchRequest),
    Endpoint("GET", "/metrics", metrics, "Metrics as Prometheus text", scope="admin"),
)


async def _health(gateway: Gateway, call: Call, status: int) -> Reply:
    body = {"status": gateway.status} if call.scope is None else await gateway.health()
    return json_reply(body, status, UNAVAILABLE if status == 503 else ())


def _added(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    """Counts by name, each summed over the parts."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: sum(part.get(name, 0) for part in parts) for name in names}
