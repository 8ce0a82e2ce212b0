"""Endpoints as data: method, path, handler, required scope, request and reply models."""

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar
from urllib.parse import parse_qsl

from agentgym_server.clock import Clock
from agentgym_server.lanes import replies
from agentgym_server.lanes.auth import Scope
from agentgym_server.lanes.exposition import exposition
from agentgym_server.lanes.operations import batch, page
from agentgym_server.monitoring.metrics import CONTENT_TYPE, Metrics
from agentgym_server.service import Service
from agentgym_server.settings import ServerSettings
from agentgym_server.wire.reply import Reply, json_reply
from agentgym_server.wire.requests import (
    BatchRequest,
    Body,
    CreateRequest,
    ForkRequest,
    LeaseRequest,
    StepRequest,
    invalid,
)

MOST_WAIT_S = 60
WAIT = re.compile(r"(?:^|[,;])\s*wait\s*=\s*([0-9]{1,9})\s*(?:$|[,;])", re.IGNORECASE)
INTEGER = re.compile(r"-?[0-9]{1,12}")
UNAVAILABLE = ((b"retry-after", b"1"),)


class Call(NamedTuple):
    """One request, past authentication, routing and parsing."""

    param: str
    """The path's parameter: an environment or a session."""
    headers: Mapping[bytes, bytes]
    query: bytes
    body: object
    """Parsed JSON body; None at an endpoint without one, `{}` where an optional one is absent."""
    scope: Scope | None = "admin"
    """None: an unauthenticated caller, at an open endpoint."""


class Served(Protocol):
    """Interface of the service behind the gate: a server's sessions, or a gateway to many servers."""

    settings: ServerSettings
    clock: Clock
    metrics: Metrics


ServedT = TypeVar("ServedT", bound=Served)
Handler = Callable[[ServedT, Call], Awaitable[Reply]]


@dataclass(frozen=True)
class Endpoint(Generic[ServedT]):
    """Method and path with their handler."""

    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: Handler[ServedT]
    summary: str
    status: int = 200
    body: type[Body] | None = None
    body_optional: bool = False
    scope: Scope = "trainer"
    open: bool = False
    """True if unauthenticated callers are allowed."""
    query: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    reply: type[replies.Shown] | None = None
    """Model of the JSON of a success; None: plain text."""

    @property
    def stored(self) -> bool:
        """True if caches may keep the reply."""
        return "/sessions" not in self.path


async def health(service: Service, call: Call) -> Reply:
    """Liveness; unauthenticated callers get the status only."""
    return _health(service, call, 503 if service.status == "draining" else 200)


async def ready(service: Service, call: Call) -> Reply:
    """Readiness."""
    return _health(service, call, 200 if service.ready else 503)


def _health(service: Service, call: Call, status: int) -> Reply:
    body = {"status": service.status} if call.scope is None else service.health()
    return json_reply(body, status, UNAVAILABLE if status == 503 else ())


async def environments(service: Service, call: Call) -> Reply:  # noqa: ARG001 - a handler
    """Every environment."""
    return json_reply({"envs": await service.catalogue.entries()})


async def environment(service: Service, call: Call) -> Reply:
    """One environment."""
    return json_reply(await service.catalogue.entry(call.param))


async def schema(service: Service, call: Call) -> Reply:
    """Action formats and reply members of one environment."""
    return json_reply(service.catalogue.schema(call.param))


async def tasks(service: Service, call: Call) -> Reply:
    """One page of tasks."""
    service.catalogue.of(call.param)
    return json_reply(await service.catalogue.tasks(call.param, page(query_members(call.query))))


async def create(service: Service, call: Call) -> Reply:
    """Start an episode."""
    return await service.episodes.create(call.param, call.body, idempotency_key(call), wait_s(call))


async def step(service: Service, call: Call) -> Reply:
    """Play a turn."""
    answer = service.episodes.step(call.param, call.body)
    return answer if isinstance(answer, Reply) else await answer


async def fork(service: Service, call: Call) -> Reply:
    """Fork a session."""
    body = optional_body(service, call)
    return await service.episodes.fork(call.param, body, idempotency_key(call), wait_s(call))


async def lease(service: Service, call: Call) -> Reply:
    """Renew a lease."""
    return service.episodes.lease(call.param, optional_body(service, call))


async def delete(service: Service, call: Call) -> Reply:
    """Close a session."""
    return service.episodes.delete(call.param)


async def get(service: Service, call: Call) -> Reply:
    """Show a session."""
    service.registry.find(call.param)
    members = query_members(call.query)
    history = members.pop("history", "false")
    if members or history not in ("true", "false"):
        raise invalid(("/history", "must be true or false, and the only parameter"))
    return await service.episodes.get_at_turn(call.param, history == "true", wait_s(call))


async def many(service: Service, call: Call) -> Reply:
    """Execute many operations."""
    return await batch(service, call.body, call.scope or "agent")


async def metrics(service: Service, call: Call) -> Reply:  # noqa: ARG001 - a handler
    """Metrics of the server, for Prometheus."""
    return Reply(200, exposition(service), content_type=CONTENT_TYPE)


def optional_body(service: Service, call: Call) -> object:
    """The body of a session's endpoint; raises `validation` for `null`, which differs from an absent body."""
    if call.body is None:
        service.registry.find(call.param)
        raise invalid(("", "must be an object"))
    return call.body


def query_members(query: bytes) -> dict[str, Any]:
    """The parameters of a query, `offset` and `limit` as integers if valid; raises `validation`."""
    members: dict[str, Any] = {}
    for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True, errors="replace"):
        if name in members:
            raise invalid((f"/{name}", "given twice"))
        numeric = name in ("offset", "limit") and INTEGER.fullmatch(value)
        members[name] = int(value) if numeric else value
    return members


def idempotency_key(call: Call) -> str | None:
    """The `Idempotency-Key` header."""
    key = call.headers.get(b"idempotency-key")
    return None if key is None else key.decode("latin-1")


def wait_s(call: Call) -> float:
    """Seconds of `Prefer: wait=N`, at most 60; 0 without."""
    return preferred_wait_s(call.headers.get(b"prefer", b"").decode("latin-1"))


def preferred_wait_s(prefer: str) -> float:
    """As `wait_s`, from the header's value."""
    match = WAIT.search(prefer)
    return 0.0 if match is None else float(min(int(match.group(1)), MOST_WAIT_S))


SESSION_PROBLEMS = ("session-not-found", "session-expired", "session-closed", "session-failed")
BEGIN_PROBLEMS = ("task-not-found", "idempotency-key-reused", "capacity", "overloaded", "draining")
BROKEN = ("internal", "worker-lost", "step-timeout", "partner", "judge", "verifier")

ENDPOINTS: tuple[Endpoint[Service], ...] = (
    Endpoint(
        "GET", "/health", health, "Liveness and capacity", open=True, scope="agent", reply=replies.HealthReply
    ),
    Endpoint("GET", "/ready", ready, "Readiness", open=True, scope="agent", reply=replies.HealthReply),
    Endpoint("GET", "/envs", environments, "List of environments", reply=replies.EnvsReply),
    Endpoint(
        "GET",
        "/envs/{env}",
        environment,
        "One environment",
        problems=("env-not-found",),
        reply=replies.EnvReply,
    ),
    Endpoint(
        "GET",
        "/envs/{env}/schema",
        schema,
        "How to act",
        problems=("env-not-found",),
        reply=replies.SchemaReply,
    ),
    Endpoint(
        "GET",
        "/envs/{env}/tasks",
        tasks,
        "Tasks, page by page",
        query=("split", "difficulty", "offset", "limit", "task_id"),
        problems=("env-not-found", "task-not-found", "validation", "unsupported-operation"),
        reply=replies.TasksReply,
    ),
    Endpoint(
        "POST",
        "/envs/{env}/sessions",
        create,
        "Begin an episode",
        status=201,
        body=CreateRequest,
        problems=("env-not-found", "validation", *BEGIN_PROBLEMS, "unsupported-operation", *BROKEN),
        reply=replies.SessionReply,
    ),
    Endpoint(
        "GET",
        "/sessions/{session_id}",
        get,
        "State and accounting; does not renew the lease",
        query=("history",),
        problems=("session-not-found", "validation"),
        reply=replies.AccountReply,
    ),
    Endpoint(
        "DELETE",
        "/sessions/{session_id}",
        delete,
        "Close",
        problems=("session-not-found",),
        reply=replies.DeleteReply,
    ),
    Endpoint(
        "POST",
        "/sessions/{session_id}/steps",
        step,
        "Play one turn",
        body=StepRequest,
        scope="agent",
        problems=(
            *SESSION_PROBLEMS,
            "validation",
            "turn-conflict",
            "out-of-turn",
            "action-mismatch",
            "session-ended",
            "overloaded",
            "partner-turn",
            *BROKEN,
        ),
        reply=replies.StepReply,
    ),
    Endpoint(
        "POST",
        "/sessions/{session_id}/fork",
        fork,
        "Branch",
        status=201,
        body=ForkRequest,
        body_optional=True,
        problems=(
            *SESSION_PROBLEMS,
            "validation",
            "turn-conflict",
            "session-ended",
            *BEGIN_PROBLEMS,
            "unsupported-operation",
            *BROKEN,
        ),
        reply=replies.SessionReply,
    ),
    Endpoint(
        "POST",
        "/sessions/{session_id}/lease",
        lease,
        "Renew the lease",
        body=LeaseRequest,
        body_optional=True,
        problems=(*SESSION_PROBLEMS, "validation"),
        reply=replies.LeaseReply,
    ),
    Endpoint(
        "POST",
        "/batch",
        many,
        "Many operations",
        body=BatchRequest,
        problems=("validation",),
        reply=replies.BatchReply,
    ),
    Endpoint("GET", "/metrics", metrics, "Metrics as Prometheus text", scope="admin"),
)
