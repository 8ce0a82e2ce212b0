"""Operations of the client, independent of the lane that carries them."""

import json
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

from pydantic_core import to_json

Header = tuple[bytes, bytes]

PATHS: dict[str, tuple[str, str]] = {
    "health": ("GET", "/health"),
    "envs": ("GET", "/envs"),
    "tasks": ("GET", "/envs/{env}/tasks"),
    "create": ("POST", "/envs/{env}/sessions"),
    "step": ("POST", "/sessions/{session_id}/steps"),
    "fork": ("POST", "/sessions/{session_id}/fork"),
    "lease": ("POST", "/sessions/{session_id}/lease"),
    "get": ("GET", "/sessions/{session_id}"),
    "delete": ("DELETE", "/sessions/{session_id}"),
}
SUBJECTS = ("env", "session_id")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Operation(NamedTuple):
    """One request; repeating it acts once."""

    name: str
    members: dict[str, Any]
    """Parameters by the names of the wire format, with `env` or `session_id` among them."""
    key: str | None = None
    """`Idempotency-Key` of operations that create a session."""
    wait_s: int = 0
    """Maximum time that the server may hold the request, for a slot or a turn, seconds."""
    alone: bool = False
    """True if no other operation may be answered together with it, since it waits for a partner."""


class Request(NamedTuple):
    """Operation as a REST request."""

    method: str
    target: str
    """Path and query."""
    headers: tuple[Header, ...]
    body: bytes


def as_request(operation: Operation) -> Request:
    """The operation for the REST lane."""
    method, template = PATHS[operation.name]
    path = template.format_map({name: quote(operation.members.get(name, ""), safe="") for name in SUBJECTS})
    rest = {name: value for name, value in operation.members.items() if name not in SUBJECTS}
    if method == "GET" and rest:
        path, rest = f"{path}?{urlencode(rest)}", {}
    headers: tuple[Header, ...] = ()
    if operation.key is not None:
        headers += ((b"idempotency-key", operation.key.encode()),)
    if operation.wait_s:
        headers += ((b"prefer", b"wait=%d" % operation.wait_s),)
    return Request(method, path, headers, encoded(rest) if method == "POST" else b"")


def as_frame(operation: Operation) -> dict[str, Any]:
    """The operation for the WebSocket lane."""
    frame = {"op": operation.name, **operation.members}
    if operation.key is not None:
        frame["idempotency_key"] = operation.key
    if operation.wait_s:
        frame["wait_s"] = operation.wait_s
    return frame


def encoded(body: object) -> bytes:
    """A body as JSON; lone surrogates, which UTF-8 lacks, become question marks.

    Raises `ValueError` or `TypeError` for values without a JSON form, such as NaN.
    """
    try:
        text = to_json(body)
    except ValueError:
        return _encode(body).encode("utf-8", "replace")
    if b"NaN" in text or b"Infinity" in text:  # inside a string, or `_encode` raises
        return _encode(body).encode("utf-8", "replace")
    return text
