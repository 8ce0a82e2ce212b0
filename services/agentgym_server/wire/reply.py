"""Reply of an operation: a status and bytes of JSON, rendered once."""

from typing import NamedTuple

from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem

Headers = tuple[tuple[bytes, bytes], ...]
JSON: tuple[bytes, bytes] = (b"content-type", b"application/json")
PROBLEM_JSON: tuple[bytes, bytes] = (b"content-type", b"application/problem+json")
REPLAY: Headers = ((b"idempotent-replay", b"true"),)


class Reply(NamedTuple):
    """Rendered reply; `headers` are added to content type and length."""

    status: int
    body: bytes
    headers: Headers = ()
    content_type: tuple[bytes, bytes] = JSON


def json_reply(value: object, status: int = 200, headers: Headers = ()) -> Reply:
    """A JSON value as a reply."""
    return Reply(status, strict_json.dump(value), headers)


def problem_reply(problem: Problem, instance: str | None = None) -> Reply:
    """A problem as a reply."""
    body = strict_json.dump(problem.document(instance))
    return Reply(problem.status, body, problem.headers, PROBLEM_JSON)
