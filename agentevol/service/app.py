"""ASGI application of the policy service.

Checks of every request, in this order: head, Host and Origin, token, route, method, media type, size, JSON;
then the endpoint's own checks. Every error has OpenAI's shape.
"""

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Scope, Send

from agentevol.service.endpoints import ENDPOINTS, Call, Endpoint
from agentevol.service.errors import Refusal, from_problem
from agentevol.service.service import Service
from agentgym_server.lanes.auth import RANKS, Guard, unauthorized
from agentgym_server.lanes.gate import MAX_REQUEST_ID, is_json, read_body, respond
from agentgym_server.settings import ServerSettings
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, internal_problem
from agentgym_server.wire.reply import Reply

SESSION = "sessions"


class App:
    """Router of the requests to a service."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings: ServerSettings = service.settings.server
        self._guard = Guard(self._settings)
        self._routes: dict[str, dict[str, Endpoint]] = {}
        for endpoint in ENDPOINTS:
            self._routes.setdefault(endpoint.path, {})[endpoint.method] = endpoint

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})
            return
        if scope["type"] != "http":
            return
        headers: dict[bytes, bytes] = dict(scope["headers"])
        request_id = _request_id(headers)
        path, session_id = _template(scope["path"])
        try:
            reply = await self._answer(scope, headers, receive, path, session_id, request_id)
        except Problem as problem:
            reply = from_problem(problem).reply()
        except Refusal as refusal:
            reply = refusal.reply()
        except Exception as cause:  # noqa: BLE001 - every exception becomes an error
            reply = from_problem(internal_problem(cause)).reply()
        self._count(path, scope["method"], reply)
        common = ((b"x-request-id", request_id.encode()), (b"cache-control", b"no-store"))
        await respond(send, reply, common, with_body=scope["method"] != "HEAD")

    async def _answer(
        self,
        scope: Scope,
        headers: dict[bytes, bytes],
        receive: Receive,
        path: str,
        session_id: str,
        request_id: str,
    ) -> Reply:
        self._guard.check_origin(headers)
        caller = self._guard.scope(headers)
        endpoint = self._endpoint(path, scope["method"])
        if endpoint.scope is not None and caller is None:
            raise unauthorized()
        if endpoint.scope is not None and caller is not None and RANKS[caller] < RANKS[endpoint.scope]:
            raise Problem("forbidden-scope", f"a token of scope {endpoint.scope} is needed")
        body = await self._body(headers, receive) if endpoint.has_body else None
        watch = asyncio.create_task(_hung_up(receive)) if endpoint.has_body else None
        call = Call(
            session_id=session_id,
            headers=headers,
            body=body,
            request_id=request_id,
            address=f"{scope.get('scheme', 'http')}://{headers.get(b'host', b'').decode('latin-1')}",
            known=caller is not None,
            gone=_done(watch),
        )
        try:
            return await endpoint.handler(self._service, call)
        finally:
            if watch is not None:
                watch.cancel()

    def _endpoint(self, path: str, method: str) -> Endpoint:
        methods = self._routes.get(path)
        if methods is None:
            raise Problem("not-found", "no such route")
        endpoint = methods.get("GET" if method == "HEAD" else method)
        if endpoint is None:
            problem = Problem("method-not-allowed", f"this route has: {', '.join(sorted(methods))}")
            problem.headers = ((b"allow", ", ".join(sorted(methods)).encode()),)
            raise problem
        return endpoint

    async def _body(self, headers: dict[bytes, bytes], receive: Receive) -> Any:
        if not is_json(headers.get(b"content-type")):
            raise Problem("unsupported-media-type", "the body must be application/json")
        raw = await read_body(headers, receive, self._settings)
        try:
            return strict_json.parse(raw)
        except strict_json.InvalidJson as cause:
            raise Problem("invalid-json", f"the body is not JSON: {cause}") from None

    def _count(self, path: str, method: str, reply: Reply) -> None:
        known = path in self._routes
        label = method if known and method in self._routes[path] else "other"
        self._service.metrics.requests.labels(path if known else "other", label, reply.status).inc()


def _template(path: str) -> tuple[str, str]:
    """The path with `{}` for its session id, and the id."""
    first, *rest = path.split("/")[1:]
    if first != SESSION or not rest or not rest[0]:
        return path, ""
    return "/".join(["", first, "{}", *rest[1:]]), rest[0]


def _request_id(headers: dict[bytes, bytes]) -> str:
    given = headers.get(b"x-request-id")
    if given and len(given) <= MAX_REQUEST_ID and given.isascii() and given.decode().isprintable():
        return given.decode()
    return f"req-{secrets.token_hex(8)}"


async def _hung_up(receive: Receive) -> None:
    """Return when the caller has disconnected."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _done(watch: "asyncio.Task[None] | None") -> Callable[[], bool]:
    return lambda: watch is not None and watch.done()
