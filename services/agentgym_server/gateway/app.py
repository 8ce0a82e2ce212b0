"""Gateway as an ASGI application, and the endpoints that it answers itself.

gate (auth, limits) -> ENDPOINTS below             /health, /ready, /envs, /metrics, /batch
                    -> Dispatcher                  /ws
                    -> Proxy                       everything else
all three           -> Delivery -> Backend of the Fleet, which the HealthPoller keeps up to date
"""

from typing import Any

from starlette.types import ASGIApp, Receive, Send
from starlette.types import Scope as AsgiScope

from agentgym_server.gateway.forwarding.dispatcher import Dispatcher, HttpChannels, SocketChannels
from agentgym_server.gateway.forwarding.proxy import Proxy
from agentgym_server.gateway.gateway import Gateway
from agentgym_server.gateway.metrics import exposition
from agentgym_server.lanes.auth import Scope
from agentgym_server.lanes.endpoints import UNAVAILABLE, Call, Endpoint
from agentgym_server.lanes.gate import MOUNTS, Gate
from agentgym_server.lanes.limits import Bucket
from agentgym_server.lanes.websocket import Lane
from agentgym_server.monitoring.metrics import CONTENT_TYPE
from agentgym_server.wire.reply import Headers, Reply, json_reply
from agentgym_server.wire.requests import BatchRequest


def application(gateway: Gateway) -> ASGIApp:
    """The gateway as an ASGI application; `gateway.watch.start()` and `gateway.close()` are the caller's."""

    async def connect(caller: Scope, bucket: Bucket, scope: AsgiScope, receive: Receive, send: Send) -> None:
        channels = SocketChannels(gateway, token_of(dict(scope["headers"])))
        board = Dispatcher(gateway, channels, caller)
        try:
            await Lane(gateway, board.answer, bucket, send).run(scope, receive)
        finally:
            await channels.close()

    return Gate(Proxy(gateway), gateway, ENDPOINTS, connect, (*MOUNTS, "/envs"))


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
    return Reply(200, (await exposition(gateway, token_of(call.headers))), content_type=CONTENT_TYPE)


async def many(gateway: Gateway, call: Call) -> Reply:
    """Execute many operations."""
    channels = HttpChannels(gateway, token_of(call.headers))
    return await Dispatcher(gateway, channels, call.scope or "agent").batch(call.body)


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
