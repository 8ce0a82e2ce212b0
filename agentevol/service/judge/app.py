"""ASGI application of the judge service.

hang-up (cancels a request whose caller has gone) -> gate (tokens, limits, JSON) -> ENDPOINTS
"""

import asyncio
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentevol.service.judge.bodies import HealthReply, JudgementsBody, JudgesReply, ShownJudgements
from agentevol.service.judge.metrics import exposition
from agentevol.service.judge.service import JudgeService
from agentgym_server.lanes import openapi
from agentgym_server.lanes.auth import Scope as Rank
from agentgym_server.lanes.endpoints import UNAVAILABLE, Call, Endpoint
from agentgym_server.lanes.gate import Gate, deny, other_method, respond
from agentgym_server.lanes.limits import Bucket
from agentgym_server.monitoring.metrics import CONTENT_TYPE
from agentgym_server.service import release
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.reply import Reply, json_reply, problem_reply

TITLE = "agentevol judges"
DOCUMENT = "/openapi.json"


def application(service: JudgeService) -> ASGIApp:
    """The judge service as an ASGI application."""
    return HangUp(Gate(_Elsewhere(service), service, ENDPOINTS, _no_lane, (DOCUMENT,)))


async def health(service: JudgeService, call: Call) -> Reply:
    """Liveness; unauthenticated callers get the status only."""
    body = {"status": service.status} if call.scope is None else service.health()
    status = 503 if service.status == "draining" else 200
    return json_reply(body, status, UNAVAILABLE if status == 503 else ())


async def ready(service: JudgeService, call: Call) -> Reply:
    """Readiness: the same as liveness, since judges are ready from the start."""
    return await health(service, call)


async def judges(service: JudgeService, call: Call) -> Reply:  # noqa: ARG001 - a handler
    """Judges, and what is asked of them by default."""
    return json_reply(service.judges())


async def judgements(service: JudgeService, call: Call) -> Reply:
    """Judgements in the order of the items."""
    return Reply(200, (await service.judgements(call.body)).model_dump_json().encode())


async def metrics(service: JudgeService, call: Call) -> Reply:  # noqa: ARG001 - a handler
    """Metrics for Prometheus."""
    return Reply(200, exposition(service), content_type=CONTENT_TYPE)


ENDPOINTS: tuple[Endpoint[JudgeService], ...] = (
    Endpoint("GET", "/health", health, "Liveness", open=True, scope="agent", reply=HealthReply),
    Endpoint("GET", "/ready", ready, "Readiness", open=True, scope="agent", reply=HealthReply),
    Endpoint("GET", "/judges", judges, "Judges of this service", reply=JudgesReply),
    Endpoint(
        "POST",
        "/judgements",
        judgements,
        "Judge items",
        body=JudgementsBody,
        problems=("validation", "too-many-in-flight", "draining"),
        reply=ShownJudgements,
    ),
    Endpoint("GET", "/metrics", metrics, "Metrics as Prometheus text", scope="admin"),
)


class HangUp:
    """Layer that cancels a request whose caller disconnects before the reply: its calls end, too."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "http":
            await _Watched(receive).serve(self._app, scope, send)
        else:
            await self._app(scope, receive, send)


class _Watched:
    """One request, whose caller is watched once its body has been read."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._serving: asyncio.Future[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def serve(self, app: ASGIApp, scope: Scope, send: Send) -> None:
        """Serve the request, or as much as there is of it when the caller goes."""
        self._serving = asyncio.ensure_future(app(scope, self._read, send))
        try:
            await self._serving
        except asyncio.CancelledError:
            if self._watch is None or not self._watch.done():  # the server stops, and nobody has gone
                raise
        finally:
            if self._watch is not None:
                self._watch.cancel()

    async def _read(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False) and self._watch is None:
            self._watch = asyncio.create_task(self._gone())
        return message

    async def _gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._serving is not None:
            self._serving.cancel()


class _Elsewhere:
    """Paths without an endpoint: the OpenAPI document, and 404."""

    def __init__(self, service: JudgeService) -> None:
        self._authenticated = service.settings.authenticated

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        missing = problem_reply(Problem("not-found", "no such route"), scope["path"])
        if scope["type"] == "websocket":
            await deny(send, missing)
            return
        reply = missing if scope["path"] != DOCUMENT else self._document(scope["method"])
        await respond(send, reply, (), with_body=scope["method"] != "HEAD")

    def _document(self, method: str) -> Reply:
        if method in ("GET", "HEAD"):
            return json_reply(
                openapi.document(TITLE, release(), ENDPOINTS, authenticated=self._authenticated)
            )
        try:
            return other_method(method, ("GET",))
        except Problem as problem:
            return problem_reply(problem, DOCUMENT)


async def _no_lane(_caller: Rank, _bucket: Bucket, scope: Scope, _receive: Receive, send: Send) -> Any:
    await deny(send, problem_reply(Problem("not-found", "no such route"), scope["path"]))
