"""Endpoints as data: method, path, required scope and handler."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agentevol.service.requests import EndBody, RewardBody, SessionBody, UpdateBody
from agentevol.service.service import Service
from agentevol.service.sessions.session import Session
from agentevol.service.settings import MODEL
from agentgym_server.lanes.auth import Scope
from agentgym_server.monitoring.metrics import CONTENT_TYPE
from agentgym_server.wire import strict_json
from agentgym_server.wire.reply import Reply, json_reply
from agentgym_server.wire.requests import validated

JSON_LINES = (b"content-type", b"application/x-ndjson")


@dataclass(frozen=True)
class Call:
    """Request as endpoints see it."""

    session_id: str
    """"" for paths without one."""
    headers: Mapping[bytes, bytes]
    body: Any
    request_id: str
    address: str
    """URL of the service as the caller uses it: `http://127.0.0.1:8000`."""
    known: bool
    """True if the caller has a token, or none is needed."""
    gone: Callable[[], bool]
    """Returns True once the caller has disconnected."""


Handler = Callable[[Service, Call], Awaitable[Reply]]


@dataclass(frozen=True)
class Endpoint:
    """Method and path with their handler. `{}` in a path stands for a session id."""

    method: str
    path: str
    scope: Scope | None
    """Minimum scope of a token; None: open to all."""
    handler: Handler
    has_body: bool = False


async def health(service: Service, call: Call) -> Reply:
    """Liveness; unauthenticated callers get the status only."""
    view = service.health()
    status = 200 if view["status"] in ("healthy", "updating") else 503
    return json_reply(view if call.known else {"status": view["status"]}, status)


async def metrics(service: Service, call: Call) -> Reply:  # noqa: ARG001 - an endpoint
    """Prometheus text."""
    return Reply(200, service.metrics.exposition(), (), CONTENT_TYPE)


async def models(service: Service, call: Call) -> Reply:
    """List of the single model."""
    if call.session_id:
        service.sessions.living(call.session_id)
    checkpoint = service.weights.checkpoint
    model = {
        "id": MODEL,
        "object": "model",
        "created": 0,
        "owned_by": "agentevol",
        "root": checkpoint.path.name,
        "policy_version": checkpoint.version,
    }
    return json_reply({"object": "list", "data": [model]})


async def chat(service: Service, call: Call) -> Reply:
    """A chat completion."""
    return await service.chat(call.body, call.session_id, call.request_id, call.gone)


async def create(service: Service, call: Call) -> Reply:
    """Start an episode."""
    session = service.open(validated(SessionBody, call.body))
    location = ((b"location", f"/sessions/{session.id}".encode()),)
    return json_reply(_view(service, session, call.address), 201, location)


async def show(service: Service, call: Call) -> Reply:
    """A session, or its tombstone."""
    return json_reply(_view(service, service.sessions.find(call.session_id), call.address))


async def trace(service: Service, call: Call) -> Reply:
    """Every recorded reply as JSON Lines."""
    session = service.sessions.living(call.session_id)
    lines = [strict_json.dump(record) + b"\n" for record in session.trace()]
    return Reply(200, b"".join(lines), (), JSON_LINES)


async def reward(service: Service, call: Call) -> Reply:
    """Set the reward of a reply, replacing an earlier one."""
    body = validated(RewardBody, call.body)
    session = service.sessions.living(call.session_id)
    record = session.reward(body.reward, body.call, body.choice)
    session.renew(service.clock.now())
    said = {"session_id": session.id, "call": record.call, "choice": record.choice, "reward": record.reward}
    return json_reply({**said, "total_reward": session.total_reward})


async def end(service: Service, call: Call) -> Reply:
    """End an episode: when this is answered, it is in the table."""
    return json_reply(await service.end(call.session_id, validated(EndBody, call.body).said()))


async def update(service: Service, call: Call) -> Reply:
    """Replace the weights: when this is answered, the new ones are in place."""
    fresh = await service.update(validated(UpdateBody, call.body).checked())
    return json_reply({"model": fresh.path.name, "policy_version": fresh.version})


def _view(service: Service, session: Session, address: str) -> dict[str, Any]:
    origin = session.origin
    return {
        "session_id": session.id,
        "base_url": f"{address}/sessions/{session.id}/v1",
        "state": session.state,
        "task_id": origin.task_id,
        "env": origin.env,
        "group": origin.group,
        "seed": origin.seed,
        "metadata": origin.metadata,
        "policy_version": origin.iteration,
        "calls": session.calls,
        "forks": session.forks,
        "total_reward": session.total_reward,
        "lease": {"ttl_s": session.lease_ttl_s, "expires_at": service.clock.stamp(session.expires_at)},
    }


ENDPOINTS = (
    Endpoint("GET", "/health", None, health),
    Endpoint("GET", "/metrics", "admin", metrics),
    Endpoint("GET", "/v1/models", "trainer", models),
    Endpoint("POST", "/v1/chat/completions", "trainer", chat, has_body=True),
    Endpoint("POST", "/update", "trainer", update, has_body=True),
    Endpoint("POST", "/sessions", "trainer", create, has_body=True),
    Endpoint("GET", "/sessions/{}", "trainer", show),
    Endpoint("GET", "/sessions/{}/trace", "trainer", trace),
    Endpoint("POST", "/sessions/{}/reward", "trainer", reward, has_body=True),
    Endpoint("POST", "/sessions/{}/end", "trainer", end, has_body=True),
    Endpoint("GET", "/sessions/{}/v1/models", "agent", models),
    Endpoint("POST", "/sessions/{}/v1/chat/completions", "agent", chat, has_body=True),
)
"""Paths that name their session are for agents; judging, creating and ending an episode is for trainers."""
