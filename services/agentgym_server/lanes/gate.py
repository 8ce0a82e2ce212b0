"""Request gate: one ASGI layer that applies the rules of the wire format to every request, in this order.

Authentication, rate, route, method, media type, size, JSON; then the endpoint's own checks: session
existence, validation, state. A WebSocket is accepted or refused before its upgrade. Paths that no endpoint
has fall through to the wrapped application, where the dialects are mounted.
"""

import asyncio
import itertools
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from typing import Any, Generic

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentgym_server.lanes.auth import RANKS, Guard, unauthorized
from agentgym_server.lanes.auth import Scope as Rank
from agentgym_server.lanes.endpoints import Call, Endpoint, ServedT
from agentgym_server.lanes.limits import Bucket, Limits
from agentgym_server.settings import ServerSettings
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped, internal_problem
from agentgym_server.wire.reply import Headers, Reply, problem_reply

NO_STORE = (b"cache-control", b"no-store")
MAX_REQUEST_ID = 128
MEDIA_TYPES = (b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8")

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
MOUNTS = ("/agentgym", "/openenv", "/sessions", "/docs", "/openapi.json")
LANE = "/ws"

Methods = dict[str, Endpoint[ServedT]]
Connect = Callable[[Rank, Bucket, Scope, Receive, Send], Awaitable[None]]
"""Serves one connection to `LANE` of an authorised caller."""


class Routes(Generic[ServedT]):
    """Endpoints by path; every path has at most one parameter, in second place."""

    def __init__(self, endpoints: Iterable[Endpoint[ServedT]]) -> None:
        self._table: dict[tuple[str, ...], tuple[Methods[ServedT], str]] = {}
        for endpoint in endpoints:
            segments = endpoint.path.split("/")[1:]
            key = (segments[0], *segments[2:], str(len(segments)))
            self._table.setdefault(key, ({}, endpoint.path))[0][endpoint.method] = endpoint

    def find(self, path: str) -> tuple[Methods[ServedT], str, str] | None:
        """The methods of a path, its parameter and its template; None for a path that no endpoint has."""
        segments = path.split("/")[1:]
        if not segments or not all(segments):  # `OPTIONS *` has none
            return None
        entry = self._table.get((segments[0], *segments[2:], str(len(segments))))
        if entry is None:
            return None
        methods, template = entry
        return methods, segments[1] if len(segments) > 1 else "", template


class Gate(Generic[ServedT]):
    """The outermost layer of the application."""

    def __init__(
        self,
        app: ASGIApp,
        service: ServedT,
        endpoints: Iterable[Endpoint[ServedT]],
        connect: Connect,
        mounts: Collection[str] = MOUNTS,
    ) -> None:
        """`mounts`: first path segments of `app`; the body of any other path is not read."""
        self._app = app
        self._service = service
        self._lane = connect
        self._mounts = mounts
        self._settings = service.settings
        self._guard = Guard(service.settings)
        self._limits = Limits(service.settings, service.clock.now)
        self._routes = Routes(endpoints)
        self._ids = map("{}-{:x}".format, itertools.repeat(secrets.token_hex(6)), itertools.count(1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request or one WebSocket."""
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._connect(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        began = time.perf_counter()
        headers: dict[bytes, bytes] = dict(scope["headers"])
        common = ((b"x-request-id", self._request_id(headers)),)
        path, method = scope["path"], scope["method"]
        found = None
        try:
            caller = self._admit(scope, headers)
            found = self._routes.find(path)
            if found is None:
                status = await self._pass_on(scope, headers, receive, send, common, caller)
                self._count(self._mount(path), method, status, began)
                return
            reply = await self._answer(found, caller, scope, headers, receive)
        except Problem as problem:
            reply = problem_reply(problem, path)
        except Exception as cause:  # noqa: BLE001 - every exception becomes a problem
            reply = problem_reply(internal_problem(cause), path)
        if path.startswith("/sessions/") or (found is not None and "/sessions" in path):
            common += (NO_STORE,)
        self._count(found[2] if found is not None else self._mount(path), method, reply.status, began)
        await respond(send, reply, common, with_body=method != "HEAD")

    async def _connect(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Accept a WebSocket, or refuse it before the upgrade."""
        try:
            caller = self._admit(scope, dict(scope["headers"]))
            if caller is None:
                raise unauthorized()
            if scope["path"] != LANE:
                need(_needed(scope["path"]), caller)
        except Problem as problem:
            await deny(send, problem_reply(problem, scope["path"]))
            return
        if scope["path"] == LANE:
            await self._lane(caller, self._limits.bucket(caller), scope, receive, send)
            return
        scope["agentevol.bucket"] = self._limits.bucket(caller)  # every operation counts, not the connection
        await self._app(scope, receive, send)

    def _admit(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Any:
        """The caller's scope, None if unauthenticated; raises for requests that no caller may make."""
        _check_head(scope, headers, self._settings)
        self._guard.check_origin(headers)
        caller = self._guard.scope(headers)
        self._limits.bucket(caller).take()
        return caller

    def _count(self, route: str, method: str, status: int, began: float) -> None:
        metrics = self._service.metrics
        metrics.requests[route, method if method in METHODS else "other", status] += 1
        metrics.request_seconds[route].observe(time.perf_counter() - began)

    async def _answer(
        self,
        found: tuple[Methods[ServedT], str, str],
        caller: Any,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
    ) -> Reply:
        methods, param, _ = found
        method = scope["method"]
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if caller is None and not (endpoint is not None and endpoint.open):
            raise unauthorized()
        if endpoint is None:
            return other_method(method, methods)
        if caller is not None:
            need(endpoint.scope, caller)
        body = None
        if endpoint.body is not None:
            body = await self._body(endpoint, headers, receive)
        call = Call(param, headers, scope["query_string"], body, caller)
        return await endpoint.handler(self._service, call)

    async def _body(
        self, endpoint: Endpoint[ServedT], headers: Mapping[bytes, bytes], receive: Receive
    ) -> Any:
        media_type = headers.get(b"content-type")
        empty = headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers
        if endpoint.body_optional and empty:
            return {}
        if media_type not in MEDIA_TYPES and not is_json(media_type):
            raise Problem("unsupported-media-type", "the body must be application/json")
        raw = await read_body(headers, receive, self._settings)
        try:
            return strict_json.parse(raw)
        except strict_json.InvalidJson as cause:
            problem = Problem("invalid-json", str(cause))
            if cause.position is not None:
                problem.members = {"position": cause.position}
            raise problem from None

    async def _pass_on(
        self,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
        send: Send,
        common: Headers,
        caller: Any,
    ) -> int:
        """Let the wrapped application serve a path without an endpoint; returns its status."""
        if caller is None:
            raise unauthorized()
        need(_needed(scope["path"]), caller)
        scope["agentevol.caller"] = caller
        known = self._mount(scope["path"]) != "other"
        body: bytes | None = await read_body(headers, receive, self._settings) if known else b""
        status = 0

        async def once() -> Message:
            nonlocal body
            if body is None:
                return await receive()  # reports when the caller disconnects
            whole, body = body, None
            return {"type": "http.request", "body": whole, "more_body": False}

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), *common]}
            await send(message)

        try:
            await self._app(scope, once, marked)
        except Exception as cause:
            if not status:
                raise
            internal_problem(cause)  # for the log: the caller has its 500
        return status

    def _mount(self, path: str) -> str:
        """The metrics label of a path without an endpoint: its first segment if it is a known one."""
        first = "/" + path.lstrip("/").partition("/")[0]
        return first if first in self._mounts else "other"

    def _request_id(self, headers: Mapping[bytes, bytes]) -> bytes:
        given = headers.get(b"x-request-id")
        if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.decode().isprintable():
            return given
        return next(self._ids).encode()


def need(needed: Rank, caller: Rank) -> None:
    """Raise `forbidden-scope` if a caller's scope is insufficient."""
    if RANKS[caller] < RANKS[needed]:
        raise Problem("forbidden-scope", f"a token of scope {needed} is needed")


def _needed(path: str) -> Rank:
    """Required scope for a path of the wrapped application: paths that name a session are open to agents."""
    return "agent" if path.startswith("/sessions/") else "trainer"


async def deny(send: Send, reply: Reply) -> None:
    """Refuse an upgrade with an ordinary reply."""
    headers = [reply.content_type, (b"content-length", b"%d" % len(reply.body)), *reply.headers]
    await send({"type": "websocket.http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": reply.body})


async def respond(send: Send, reply: Reply, common: Headers, with_body: bool = True) -> None:
    """Send a reply."""
    length = (b"content-length", b"%d" % len(reply.body))
    headers = [reply.content_type, length, *reply.headers, *common]
    if reply.status == 204:
        headers = [*reply.headers, *common]
    await send({"type": "http.response.start", "status": reply.status, "headers": headers})
    await send({"type": "http.response.body", "body": reply.body if with_body else b""})


async def read_body(headers: Mapping[bytes, bytes], receive: Receive, settings: ServerSettings) -> bytes:
    """The request's body; raises `payload-too-large` without reading the rest, and `request-timeout`."""
    limit, timeout_s = settings.max_body_bytes, settings.body_timeout_s
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limit:
        raise _too_large(limit)
    try:
        async with asyncio.timeout(timeout_s):  # for the whole body: slow bytes do not extend it
            return await _pieces(receive, limit)
    except TimeoutError:
        raise Problem("request-timeout", f"the body did not arrive within {timeout_s:g} s") from None


async def _pieces(receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem("invalid-json", "the body ended early")
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
        if size > limit:
            raise _too_large(limit)
        if not message.get("more_body", False):
            return b"".join(pieces)


def _too_large(limit: int) -> Problem:
    return Problem("payload-too-large", f"a body may have at most {limit} bytes", max_bytes=limit)


def _check_head(scope: Scope, headers: Mapping[bytes, bytes], settings: ServerSettings) -> None:
    size = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
    if size > settings.max_url_bytes:
        raise Problem("uri-too-long", f"a URL may have at most {settings.max_url_bytes} bytes")
    if sum(map(len, headers)) + sum(map(len, headers.values())) > settings.max_head_bytes:
        limit = settings.max_head_bytes
        raise Problem("head-too-large", f"a header block may have at most {limit} bytes")


def other_method(method: str, methods: Iterable[str]) -> Reply:
    """The response to `OPTIONS` at a route with these methods; raises `method-not-allowed` for any other."""
    known = set(methods)
    extra = {"OPTIONS", "HEAD"} if "GET" in known else {"OPTIONS"}
    allowed = sorted(known | extra)
    allow = ((b"allow", ", ".join(allowed).encode()),)
    if method == "OPTIONS":
        return Reply(204, b"", allow)
    problem = Problem("method-not-allowed", f"{clipped(method)} is not one of: {', '.join(allowed)}")
    problem.headers = allow
    raise problem


def is_json(media_type: bytes | None) -> bool:
    """True if a `Content-Type` is JSON, with UTF-8 as its only allowed parameter."""
    if media_type is None:
        return False
    kind, *parameters = (part.strip().lower() for part in media_type.split(b";"))
    return kind == b"application/json" and parameters in ([], [b"charset=utf-8"], [b'charset="utf-8"'])
