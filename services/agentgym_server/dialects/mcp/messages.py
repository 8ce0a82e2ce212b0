"""MCP messages: JSON-RPC 2.0 requests, notifications and error responses.

{"jsonrpc": "2.0", "id": 1, "method": "ping"}
{"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "unknown method: pong"}}
"""

from typing import Any, NamedTuple, cast

from agentgym_server.dialects.json_rpc import INTERNAL_ERROR, INVALID_PARAMS, INVALID_REQUEST
from agentgym_server.wire.problems import Problem, internal_problem

Json = dict[str, Any]

VERSION = "io.modelcontextprotocol/protocolVersion"
"""Key of `_meta` that holds the version of a request, since 2026-07-28."""

SESSION_PROBLEM = -32000
HEADER_MISMATCH = -32020
UNSUPPORTED_VERSION = -32022


class RpcError(Exception):
    """JSON-RPC error, raised by handlers."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class Message(NamedTuple):
    """Request, or a notification if `id` is None."""

    id: str | int | None
    method: str
    params: Json
    meta: Json
    """`_meta` of the params."""

    @property
    def modern(self) -> bool:
        """True if it uses a revision without handshake."""
        return VERSION in self.meta


def parsed(body: object) -> Message:
    """A request or notification; raises `RpcError` for anything else."""
    members = _members(body)
    method = members.get("method")
    if members.get("jsonrpc") != "2.0" or not isinstance(method, str):
        raise RpcError(INVALID_REQUEST, 'not a request: an object with "jsonrpc": "2.0" and a "method"')
    request_id = id_of(body)
    if "id" in members and request_id is None:
        raise RpcError(INVALID_REQUEST, "the id must be a string or an integer")
    params = optional_object(members.get("params"), "params")
    return Message(request_id, method, params, optional_object(params.get("_meta"), "params._meta"))


def id_of(body: object) -> str | int | None:
    """The id of a request for its response; None without a valid one."""
    value = _members(body).get("id")
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None


def optional_object(value: Any, name: str) -> Json:
    """An object that may be absent; null counts as absent, since some clients send it."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise RpcError(INVALID_PARAMS, f"{name} must be an object")
    return cast("Json", value)


def error_answer(request_id: str | int | None, error: RpcError) -> Json:
    """The response that carries an error."""
    data = {} if error.data is None else {"data": error.data}
    return {
        "jsonrpc": "2.0",
        "id": request_id,
        "error": {"code": error.code, "message": error.message, **data},
    }


def rpc_error(cause: Exception, path: str) -> RpcError:
    """The error object of any exception; a problem of the server is its `data`."""
    if isinstance(cause, RpcError):
        return cause
    if not isinstance(cause, Problem):
        problem = internal_problem(cause)
        return RpcError(INTERNAL_ERROR, problem.detail, problem.document(path))
    code = INVALID_PARAMS if cause.slug == "validation" else SESSION_PROBLEM
    return RpcError(code, cause.detail, cause.document(path))


def _members(body: object) -> Json:
    return cast("Json", body) if isinstance(body, dict) else {}
