"""Routing rules: the destination of a request, from the request alone, without asking a server.

POST /envs/guess/sessions                       creates a session of guess, on any replica
POST /sessions/s_AAAB.../steps                  the server with tag AAAB
POST /agentgym/guess/step {"id": 4294967296}    the server of instance 1, whose tag is AAAB as well
{"op": "step", "session_id": "s_AAAB...", ...}  an operation of the WebSocket lane or of a batch: likewise
"""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

from agentgym_server.lanes.gate import is_json
from agentgym_server.lanes.operations import OPERATIONS, Item, is_wait
from agentgym_server.sessions.session import instance_tag
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem
from agentgym_server.wire.requests import CreateRequest, validated

SESSION_ID = re.compile(r"s_([A-Za-z0-9_-]{4})[A-Za-z0-9_-]{12,60}")
INTEGER = re.compile(r"\d{1,20}")
INSTANCES = 1 << 20
FAMILIES = ("lmrlgym",)
"""Path segments of AgentGym before the name of some environments."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS", "DELETE")
BESIDE_THE_BODY = ("op", "env", "idempotency_key", "wait_s")
"""Members of a `create` operation that REST has in path and headers."""
SAFE_OPERATIONS = ("schema", "tasks", "get", "delete", "lease", "step")
Members = Mapping[str, Any]


class Request(NamedTuple):
    """HTTP request, or a request for a WebSocket."""

    method: str
    path: str
    """Decoded, without the query."""
    target: str
    """Path and query as they are sent."""
    query: bytes
    headers: tuple[tuple[bytes, bytes], ...]
    body: bytes = b""

    def header(self, name: bytes) -> str | None:
        """The value of a header; the name in lower case."""
        return next((value.decode("latin-1") for given, value in self.headers if given == name), None)

    def without(self, name: bytes) -> "Request":
        """The same request without this header."""
        return self._replace(headers=tuple(pair for pair in self.headers if pair[0] != name))


class Act(NamedTuple):
    """Operation on sessions, over any lane."""

    name: str
    """Name as in `OPERATIONS`; empty for anything else."""
    session_id: str = ""


NOTHING = Act("")
ACTS: dict[tuple[str, ...], str] = {
    ("GET",): "get",
    ("DELETE",): "delete",
    ("POST", "steps"): "step",
    ("POST", "fork"): "fork",
}
"""Names of operations by method and the path segments after the session."""


class Destination(NamedTuple):
    """Facts that decide about the server; all None: any server."""

    tag: str | None = None
    """Tag of the server that holds the session. If no server has this tag, any server replies that it is
    unknown.
    """
    env: str | None = None
    """Any replica of this environment; with `tag`, the environment to ask about an unknown session."""
    begins: bool = False
    """True if a session is created: a full server is skipped while another one has a free slot."""
    key: str | None = None
    """Idempotency key: a repeat must reach the server of the first request."""
    mounted: bool = False
    """True if `env` is a dialect's own name: if no environment has it, the servers are tried in turn."""


def destination(request: Request) -> Destination:
    """The destination of a request."""
    segments = [segment for segment in request.path.split("/") if segment]
    if len(segments) < 2:
        return Destination()
    if segments[0] == "sessions":
        return Destination(tag=tag_of(segments[1]))
    if segments[0] == "envs":
        begins = request.method == "POST" and segments[2:] == ["sessions"]
        key = request.header(b"idempotency-key") if begins else None
        return Destination(env=segments[1], begins=begins, key=key)
    if segments[0] == "agentgym":
        return _agentgym(request, segments[1:])
    if segments[0] == "openenv":
        return Destination(_named_session(request), segments[1], mounted=True)
    return Destination()


def act_of(request: Request) -> Act:
    """The session operation of a request of the native wire format."""
    segments = request.path.split("/")[1:]
    if segments[0] == "envs" and segments[2:] == ["sessions"] and request.method == "POST":
        return Act("create")
    if segments[0] != "sessions" or not 2 <= len(segments) <= 3:
        return NOTHING
    name = ACTS.get((request.method, *segments[2:]))
    return NOTHING if name is None else Act(name, segments[1])


def item_act(item: object) -> Act:
    """The session operation of an item."""
    if not isinstance(item, dict):
        return NOTHING
    members = cast("Item", item)
    name, session_id = members.get("op"), members.get("session_id", "")
    return Act(name, session_id) if isinstance(name, str) and isinstance(session_id, str) else NOTHING


def item_destination(item: object) -> Destination:
    """The destination of an item; any server for a malformed one, which then refuses it."""
    if not isinstance(item, dict):
        return Destination()
    members = cast("Item", item)
    name = members.get("op")
    operation = OPERATIONS.get(name) if isinstance(name, str) else None
    subject = None if operation is None or operation.subject is None else members.get(operation.subject)
    if operation is None or not isinstance(subject, str):
        return Destination()
    if operation.subject == "session_id":
        return Destination(tag=tag_of(subject))
    begins = name == "create"
    return Destination(env=subject, begins=begins, key=_key(members) if begins else None)


def tag_of(session_id: str) -> str | None:
    """The tag of the server that made this id; None for an id that no server made."""
    match = SESSION_ID.fullmatch(session_id)
    return None if match is None else match.group(1)


def number_tag(number: object) -> str | None:
    """The tag of the server that made this integer id of AgentGym's: its instance times 2**32, and more."""
    if isinstance(number, str) and INTEGER.fullmatch(number):
        number = int(number)
    if type(number) is not int or not 0 <= number >> 32 < INSTANCES:
        return None
    return instance_tag(number >> 32)


def repeatable(request: Request) -> bool:
    """True if the same server may receive the request twice, since it acts once only."""
    if request.method in SAFE_METHODS:
        return True
    segments = request.path.split("/")[1:]
    if segments[0] == "sessions" and segments[2:] in (["steps"], ["lease"]):
        return True  # a step carries its turn number
    return segments[0] in ("envs", "sessions") and request.header(b"idempotency-key") is not None


def item_repeatable(item: object) -> bool:
    """As `repeatable`, for an operation."""
    if not isinstance(item, dict):
        return True
    members = cast("Item", item)
    return members.get("op") in SAFE_OPERATIONS or _key(members) is not None


def item_wait_s(item: object) -> float:
    """Maximum wait of an operation for a free slot, seconds; 0 if the member is missing or invalid."""
    value = cast("Item", item).get("wait_s") if isinstance(item, dict) else None
    return float(value) if value is not None and is_wait(value) else 0.0


def slots_of(request: Request) -> int:
    """Slots that a creation takes, one for each seat; 0 for an invalid one."""
    if not is_json((request.header(b"content-type") or "").encode("latin-1")):
        return 0
    try:
        return _seats(strict_json.parse(request.body))
    except (Problem, strict_json.InvalidJson):
        return 0


def item_slots(item: object) -> int:
    """As `slots_of`, for an operation."""
    members = cast("Item", item)
    body = {name: value for name, value in members.items() if name not in BESIDE_THE_BODY}
    try:
        return _seats(body) if is_wait(members.get("wait_s", 0)) else 0
    except Problem:
        return 0


def _seats(body: object) -> int:
    seats = validated(CreateRequest, body).seats
    return 1 if seats is None else seats


def without_wait(item: object) -> object:
    """The same operation without waiting; an invalid `wait_s` stays, to be refused."""
    if not isinstance(item, dict):
        return item
    members = cast("Item", item)
    return {name: value for name, value in members.items() if name != "wait_s" or not is_wait(value)}


def _agentgym(request: Request, segments: list[str]) -> Destination:
    mount = segments[1] if segments[0] in FAMILIES and len(segments) > 1 else segments[0]
    if segments[-1] == "create":
        return Destination(env=mount, begins=True, mounted=True)
    for members in (_query(request), _body(request)):
        # If both are present, `id` is the task and `env_idx` the session.
        number = members.get("env_idx", members.get("id"))
        if number is not None:
            return Destination(number_tag(number), mount, mounted=True)
    return Destination(env=mount, mounted=True)


def _named_session(request: Request) -> str | None:
    """The tag of the session that a request of OpenEnv names, in any of the allowed places."""
    body = _body(request)
    params = body.get("params")
    named = (
        _query(request).get("session_id"),
        body.get("session_id"),
        cast("Members", params).get("session_id") if isinstance(params, dict) else None,
        request.header(b"x-session-id"),
    )
    return next((tag_of(name) for name in named if isinstance(name, str)), None)


def _key(members: Item) -> str | None:
    key = members.get("idempotency_key")
    return key if isinstance(key, str) else None


def _query(request: Request) -> Members:
    return dict(parse_qsl(request.query.decode("latin-1"), errors="replace"))


def _body(request: Request) -> Members:
    """The members of a JSON object; none for any other body, which its server will refuse."""
    try:
        value = json.loads(request.body) if request.body else None
    except (ValueError, RecursionError):
        return {}
    return cast("Members", value) if isinstance(value, dict) else {}
