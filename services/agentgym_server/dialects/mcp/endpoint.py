"""MCP dialect (Model Context Protocol): one endpoint per session, whose tool calls are the session's turns.

    POST /sessions/s_8Jx0b2kq7Qm1Zr4T/mcp
    {"jsonrpc": "2.0", "id": 5, "method": "tools/call",
     "params": {"name": "act", "arguments": {"action": "look"}, "_meta": {"agentevol/turn": 3}}}
    {"jsonrpc": "2.0", "id": 5, "result": {"content": [{"type": "text", "text": "You are in ..."}],
     "structuredContent": {"result": "You are in ..."}, "isError": false,
     "_meta": {"agentevol/turn": 3, "agentevol/state": "open"}}}

A call that changes the tools is answered, where the client takes event streams, by a stream of the
notification `notifications/tools/list_changed` and the reply.

Both generations of the protocol are supported: revisions up to 2025-11-25, which begin with `initialize`, and
2026-07-28, whose requests name their version each. State lives in the URL, so that neither needs a session of
its own.

Source: the MCP specification, revisions 2025-03-26 (batches), 2025-11-25 and 2026-07-28.
"""

import contextlib
import functools
import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, cast

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agentgym_server.dialects.json_rpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, PARSE_ERROR
from agentgym_server.dialects.mcp.messages import (
    HEADER_MISMATCH,
    UNSUPPORTED_VERSION,
    VERSION,
    Json,
    Message,
    RpcError,
    error_answer,
    id_of,
    parsed,
    rpc_error,
)
from agentgym_server.dialects.mcp.tools import TOOLS_CHANGED, call_tool, tools_of
from agentgym_server.lanes.gate import is_json
from agentgym_server.service import Service, release
from agentgym_server.sessions.session import Session
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import problem_reply

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)
BATCHING = (None, "2024-11-05", "2025-03-26")
"""Version headers of clients that may send batches; without a header, a client of 2025-03-26 is assumed."""

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LIST_CHANGED: Json = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
SERVER_INFO = "io.modelcontextprotocol/serverInfo"

STATUS = {PARSE_ERROR: 400, INVALID_REQUEST: 400, HEADER_MISMATCH: 400, UNSUPPORTED_VERSION: 400}
MODERN_STATUS = STATUS | {INVALID_PARAMS: 400, METHOD_NOT_FOUND: 404}
"""HTTP statuses by error code; every other response has 200."""


class SessionEndpoint(NamedTuple):
    """MCP endpoint of one session."""

    service: Service
    session: Session
    path: str


Method = Callable[[SessionEndpoint, Message], "Json | Awaitable[Json]"]
Answer = tuple[int, "Json | list[Json] | None"]
"""HTTP status and body; no body in reply to notifications only."""


def routes(service: Service) -> list[BaseRoute]:
    """The endpoint; the protocol's GET and DELETE are refused with 405."""

    async def post(request: Request) -> Response:
        path = request.url.path
        try:
            if not is_json(request.headers.get("content-type", "").encode("latin-1")):
                raise Problem("unsupported-media-type", "the body must be application/json")
            body = strict_json.parse(await request.body())
            session = service.registry.find(request.path_params["session_id"])
        except strict_json.InvalidJson as cause:
            return _response(_refused(None, RpcError(PARSE_ERROR, f"not JSON: {cause}"), STATUS))
        except Problem as problem:
            reply = problem_reply(problem, path)
            return Response(reply.body, reply.status, media_type="application/problem+json")
        with contextlib.suppress(Problem):  # a session that is gone still has its tombstone
            service.episodes.lease(session.id, None)
        answer = await _answer(SessionEndpoint(service, session, path), body, request.headers)
        if _reads_streams(request.headers) and _changed_tools(body, answer):
            return _stream(answer)
        return _response(answer)

    return [Route("/sessions/{session_id}/mcp", post, methods=["POST"])]


def _response(answer: Answer) -> Response:
    status, body = answer
    headers = {"cache-control": "no-store"}
    if body is None:
        return Response(status_code=status, headers=headers)
    return Response(strict_json.dump(body), status, headers, "application/json")


def _reads_streams(headers: Mapping[str, str]) -> bool:
    """True if the client takes an event stream as the reply to a request."""
    accepted = headers.get("accept", "").lower().split(",")
    return any(kind.partition(";")[0].strip() == "text/event-stream" for kind in accepted)


def _changed_tools(body: object, answer: Answer) -> bool:
    """True if a call changed the tools, and its revision lets a reply carry a notification of it.

    Since 2026-07-28 only streams of `subscriptions/listen` do, which this endpoint has not.
    """
    reply = answer[1]
    if not isinstance(reply, dict) or parsed(body).modern:
        return False
    return reply.get("result", {}).get("_meta", {}).get(TOOLS_CHANGED) is True


def _stream(answer: Answer) -> Response:
    """The reply as an event stream that ends with it, after the notification that the tools changed."""
    events = b"".join(
        b"event: message\ndata: " + strict_json.dump(message) + b"\n\n"
        for message in (LIST_CHANGED, answer[1])
    )
    return Response(events, answer[0], {"cache-control": "no-store"}, "text/event-stream")


async def _answer(door: SessionEndpoint, body: object, headers: Mapping[str, str]) -> Answer:
    if isinstance(body, list):
        return await _answer_batch(door, cast("list[object]", body), headers)
    statuses = STATUS
    try:
        message = parsed(body)
        statuses = MODERN_STATUS if message.modern else STATUS
        _check_version(message, headers)
    except RpcError as error:
        status, answer = _refused(id_of(body), error, statuses)
        return (status if id_of(body) is not None else 400), answer  # a notification's refusal is its status
    return (202, None) if message.id is None else await _called(door, message)


async def _answer_batch(door: SessionEndpoint, items: list[object], headers: Mapping[str, str]) -> Answer:
    limit = door.service.settings.max_batch_items
    if headers.get("mcp-protocol-version") not in BATCHING:
        reason = "this revision of the protocol has no batches: send one message at a time"
        return _refused(None, RpcError(INVALID_REQUEST, reason), STATUS)
    if not 0 < len(items) <= limit:
        return _refused(None, RpcError(INVALID_REQUEST, f"a batch has 1 to {limit} messages"), STATUS)
    answers = [answer for item in items if (answer := await _answer_item(door, item)) is not None]
    return (200, answers) if answers else (202, None)


async def _answer_item(door: SessionEndpoint, item: object) -> Json | None:
    """The response to one message of a batch; messages run one after another, since each may be a turn."""
    try:
        message = parsed(item)
        if message.modern or message.method == "initialize":
            raise RpcError(INVALID_REQUEST, "not in a batch")
    except RpcError as error:
        return error_answer(id_of(item), error)
    return None if message.id is None else (await _called(door, message))[1]


def _check_version(message: Message, headers: Mapping[str, str]) -> None:
    """Refuse unsupported versions, and headers that contradict the body."""
    header = headers.get("mcp-protocol-version")
    if not message.modern:
        if header is not None and header not in (*LEGACY, *MODERN):
            raise _unsupported(header, [*LEGACY, *MODERN])
        return
    version: object = message.meta[VERSION]
    if not isinstance(version, str):
        raise RpcError(INVALID_PARAMS, f"{VERSION} must be a string")
    told = (("mcp-protocol-version", version), ("mcp-method", message.method), ("mcp-name", _name(message)))
    for name, value in told:
        if value is not None and headers.get(name, value) != value:
            raise RpcError(HEADER_MISMATCH, f"the header {name} differs from the body")
    if version not in MODERN:
        raise _unsupported(version, list(MODERN))


def _name(message: Message) -> str | None:
    """The tool name that the header must repeat; a name that is not header-safe may be encoded there."""
    name: object = message.params.get("name")
    known = message.method == "tools/call" and isinstance(name, str) and TOOL_NAME.fullmatch(name)
    return cast("str", name) if known else None


def _unsupported(version: str, supported: list[str]) -> RpcError:
    data = {"supported": supported, "requested": clipped(version)}
    return RpcError(UNSUPPORTED_VERSION, "unsupported protocol version", data)


async def _called(door: SessionEndpoint, message: Message) -> tuple[int, Json]:
    """Status and response of a request."""
    methods, statuses = (MODERN_METHODS, MODERN_STATUS) if message.modern else (LEGACY_METHODS, STATUS)
    try:
        method = methods.get(message.method)
        if method is None:
            raise RpcError(METHOD_NOT_FOUND, f"unknown method: {clipped(message.method)}")
        result = method(door, message)
        result = await result if inspect.isawaitable(result) else result
    except Exception as cause:  # noqa: BLE001 - every exception becomes an error object
        return _refused(message.id, rpc_error(cause, door.path), statuses)
    if message.modern:
        meta: Json = result.get("_meta", {}) | {SERVER_INFO: _server_info()}
        result |= {"resultType": "complete", "_meta": meta}
    return 200, {"jsonrpc": "2.0", "id": message.id, "result": result}


def _refused(request_id: str | int | None, error: RpcError, statuses: Mapping[int, int]) -> tuple[int, Json]:
    return statuses.get(error.code, 200), error_answer(request_id, error)


@functools.cache
def _server_info() -> Json:
    return {"name": "agentevol", "version": release()}


def _initialize(door: SessionEndpoint, message: Message) -> Json:
    asked = message.params.get("protocolVersion")
    changing = door.service.catalogue.of(door.session.origin.env).environment.changing_tools
    return {
        "protocolVersion": asked if asked in LEGACY else LEGACY[-1],
        "capabilities": {"tools": {"listChanged": changing}},
        "serverInfo": _server_info(),
    }


def _discover(_: SessionEndpoint, __: Message) -> Json:
    return {
        "supportedVersions": list(MODERN),
        "capabilities": {"tools": {}},
        "serverInfo": _server_info(),
        **_uncached(),
    }


def _uncached() -> Json:
    return {"ttlMs": 0, "cacheScope": "private"}


def _ping(_: SessionEndpoint, __: Message) -> Json:
    return {}


def _list_tools(door: SessionEndpoint, message: Message) -> Json:
    if message.params.get("cursor") is not None:
        raise RpcError(INVALID_PARAMS, "unknown cursor: the list has one page")
    door.service.episodes.lease(door.session.id, None)  # raises where the session is gone
    return {"tools": tools_of(door.service, door.session), **(_uncached() if message.modern else {})}


def _call_tool(door: SessionEndpoint, message: Message) -> Awaitable[Json]:
    return call_tool(door.service, door.session, message)


SHARED_METHODS: dict[str, Method] = {"ping": _ping, "tools/list": _list_tools, "tools/call": _call_tool}
LEGACY_METHODS: dict[str, Method] = {"initialize": _initialize, **SHARED_METHODS}
MODERN_METHODS: dict[str, Method] = {"server/discover": _discover, **SHARED_METHODS}
