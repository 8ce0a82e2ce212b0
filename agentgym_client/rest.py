"""REST lane: one HTTP request per operation."""

import asyncio
import json
from typing import Any, cast

from agentgym_client.errors import EnvClientError, ServerProblem, TransportError
from agentgym_client.operations import Header, Operation, as_request
from agentgym_client.transport import Exchange, Reply

PREFIX = "urn:agentevol:problem:"
JSON_HEADERS: tuple[Header, ...] = ((b"content-type", b"application/json"), (b"accept", b"application/json"))
MEMBERS = ("type", "title", "status", "detail", "instance", "retryable")


class RestLane:
    """Lane over an `Exchange`."""

    def __init__(self, exchange: Exchange, token: str | None) -> None:
        self._exchange = exchange
        self._headers = JSON_HEADERS
        if token is not None:
            self._headers += ((b"authorization", b"Bearer " + token.encode()),)

    async def perform(self, operation: Operation, timeout_s: float) -> Any:
        """The JSON value of a successful reply; raises `ServerProblem` or `TransportError`."""
        method, target, headers, body = as_request(operation)
        try:
            async with asyncio.timeout(timeout_s):
                return _value(await self._exchange.send(method, target, self._headers + headers, body))
        except TimeoutError:
            raise TransportError(f"{method} {target}: no answer within {timeout_s:g} s") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._exchange.close()


def problem_of(status: int, document: object, retry_after: str = "") -> EnvClientError:
    """The problem in a document; any other document comes from a proxy and is a transport error."""
    problem = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if not str(problem.get("type")).startswith(PREFIX):
        return TransportError(f"status {status} without a problem document")
    members = {name: value for name, value in problem.items() if name not in MEMBERS}
    if retry_after.isdigit():
        members["retry_after_s"] = int(retry_after)
    kind = str(problem["type"]).removeprefix(PREFIX)
    detail = str(problem.get("detail", ""))
    return ServerProblem(kind, status, detail, problem.get("retryable") is True, members)


def _value(reply: Reply) -> Any:
    try:
        value = json.loads(reply.body)
    except ValueError:
        raise TransportError(f"status {reply.status} with a body that is not JSON") from None
    if reply.status < 400:
        return value
    raise problem_of(reply.status, value, reply.headers.get(b"retry-after", b"").decode("latin-1"))
