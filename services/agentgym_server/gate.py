"""The way in: one ASGI layer that does for every request what wire formats promise, in this order.

Authentication, route, method, media type, size, JSON; then the endpoint's own checks: session existence,
validation, state. Paths that no endpoint has fall through to the wrapped application, which other dialects
may extend.
"""

import asyncio
import itertools
import logging
import secrets
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentgym_server import strict_json
from agentgym_server.auth import RANKS, Guard, unauthorized
from agentgym_server.endpoints import Call, Endpoint
from agentgym_server.problems import Problem, clipped
from agentgym_server.reply import Headers, Reply, problem_reply
from agentgym_server.service import Service
from agentgym_server.settings import ServerSettings

log = logging.getLogger(__name__)

NO_STORE = (b"cache-control", b"no-store")
MAX_REQUEST_ID = 128
MEDIA_TYPES = (b"application/json", b"application/json; charset=utf-8", b"application/json;charset=utf-8")

Methods = dict[str, Endpoint]


class Routes:
    """Endpoints by path; every path has at most one parameter, in second place."""

    def __init__(self, endpoints: Iterable[Endpoint]) -> None:
        self._table: dict[tuple[str, ...], Methods] = {}
        for endpoint in endpoints:
            segments = endpoint.path.split("/")[1:]
            key = (segments[0], *segments[2:], str(len(segments)))
            self._table.setdefault(key, {})[endpoint.method] = endpoint

    def find(self, path: str) -> tuple[Methods, str] | None:
        """The methods of a path and its parameter; None for a path that no endpoint has."""
        segments = path.split("/")[1:]
        if not all(segments):
            return None
        methods = self._table.get((segments[0], *segments[2:], str(len(segments))))
        return None if methods is None else (methods, segments[1] if len(segments) > 1 else "")


class Gate:
    """The outermost layer of the application."""

    def __init__(self, app: ASGIApp, service: Service, endpoints: Iterable[Endpoint]) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings
        self._guard = Guard(service.settings)
        self._routes = Routes(endpoints)
        self._ids = map("{}-{:x}".format, itertools.repeat(secrets.token_hex(6)), itertools.count(1))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        common = ((b"x-request-id", self._request_id(headers)),)
        found = None
        try:
            caller = self._admit(scope, headers)
            found = self._routes.find(scope["path"])
            if found is None:
                await self._pass_on(scope, receive, send, common, caller)
                return
            reply = await self._answer(found, caller, scope, headers, receive)
        except Problem as problem:
            reply = problem_reply(problem, scope["path"])
        except Exception as cause:  # noqa: BLE001 - the last line: whatever it is, the caller gets a problem
            reply = problem_reply(_internal(cause), scope["path"])
        if scope["path"].startswith("/sessions/") or (found is not None and "/sessions" in scope["path"]):
            common += (NO_STORE,)
        await respond(send, reply, common, with_body=scope["method"] != "HEAD")

    def _admit(self, scope: Scope, headers: Mapping[bytes, bytes]) -> Any:
        """The caller's scope, None for a stranger; raises for requests that nobody may make."""
        _check_head(scope, headers, self._settings)
        self._guard.check_origin(headers)
        return self._guard.scope(headers)

    async def _answer(
        self,
        found: tuple[Methods, str],
        caller: Any,
        scope: Scope,
        headers: Mapping[bytes, bytes],
        receive: Receive,
    ) -> Reply:
        methods, param = found
        method = scope["method"]
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if caller is None and not (endpoint is not None and endpoint.open):
            raise unauthorized()
        if endpoint is None:
            return _other_method(method, methods)
        if caller is not None and RANKS[caller] < RANKS[endpoint.scope]:
            raise Problem("forbidden-scope", f"a token of scope {endpoint.scope} is needed")
        body = None
        if endpoint.body is not None:
            body = await self._body(endpoint, headers, receive)
        call = Call(param, headers, scope["query_string"], body, caller)
        return await endpoint.handler(self._service, call)

    async def _body(self, endpoint: Endpoint, headers: Mapping[bytes, bytes], receive: Receive) -> Any:
        media_type = headers.get(b"content-type")
        empty = headers.get(b"content-length", b"0") == b"0" and b"transfer-encoding" not in headers
        if endpoint.body_optional and empty:
            return None
        if media_type not in MEDIA_TYPES and not _is_json(media_type):
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
        self, scope: Scope, receive: Receive, send: Send, common: Headers, caller: Any
    ) -> None:
        """Let the wrapped application answer a path that is none of ours."""
        if caller is None:
            raise unauthorized()

        async def marked(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *common]}
            await send(message)

        await self._app(scope, receive, marked)

    def _request_id(self, headers: Mapping[bytes, bytes]) -> bytes:
        given = headers.get(b"x-request-id")
        if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.decode().isprintable():
            return given
        return next(self._ids).encode()


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
    limit = settings.max_body_bytes
    declared = headers.get(b"content-length", b"0")
    if not declared.isdigit() or int(declared) > limit:
        raise _too_large(limit)
    message = await _soon(receive, settings.body_timeout_s)
    body: bytes = message.get("body", b"")
    pieces = [body]
    size = len(body)
    while message.get("more_body", False):
        if size > limit:
            raise _too_large(limit)
        message = await _soon(receive, settings.body_timeout_s)
        pieces.append(message.get("body", b""))
        size += len(pieces[-1])
    if size > limit:
        raise _too_large(limit)
    return b"".join(pieces)


async def _soon(receive: Receive, timeout_s: float) -> Message:
    try:
        async with asyncio.timeout(timeout_s):
            message = await receive()
    except TimeoutError:
        raise Problem("request-timeout", f"the body did not arrive within {timeout_s:g} s") from None
    if message["type"] == "http.disconnect":
        raise Problem("invalid-json", "the body ended early")
    return message


def _too_large(limit: int) -> Problem:
    return Problem("payload-too-large", f"a body may have at most {limit} bytes", max_bytes=limit)


def _check_head(scope: Scope, headers: Mapping[bytes, bytes], settings: ServerSettings) -> None:
    size = len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
    if size > settings.max_url_bytes:
        raise Problem("uri-too-long", f"a URL may have at most {settings.max_url_bytes} bytes")
    if sum(map(len, headers)) + sum(map(len, headers.values())) > settings.max_head_bytes:
        limit = settings.max_head_bytes
        raise Problem("head-too-large", f"a header block may have at most {limit} bytes")


def _other_method(method: str, methods: Methods) -> Reply:
    extra = ("OPTIONS", "HEAD") if "GET" in methods else ("OPTIONS",)
    allowed = sorted([*methods, *extra])
    allow = ((b"allow", ", ".join(allowed).encode()),)
    if method == "OPTIONS":
        return Reply(204, b"", allow)
    problem = Problem("method-not-allowed", f"{clipped(method)} is not one of: {', '.join(allowed)}")
    problem.headers = allow
    raise problem


def _is_json(media_type: bytes | None) -> bool:
    if media_type is None:
        return False
    kind, *parameters = (part.strip().lower() for part in media_type.split(b";"))
    return kind == b"application/json" and parameters in ([], [b"charset=utf-8"], [b'charset="utf-8"'])


def _internal(cause: Exception) -> Problem:
    incident = secrets.token_hex(8)
    log.error("incident %s\n%s", incident, "".join(traceback.format_exception(cause)))
    return Problem("internal", "the server has a bug; its log has the details", incident=incident)
