"""Requests that are sent until they are answered. Every request of this client is safe to repeat.

No answer at all (refused, reset, timed out) is tried again a few times; a full or draining server is waited
for, as long as the client's patience lasts.
"""

import asyncio
import json
import random
from dataclasses import dataclass
from typing import Any, cast

from agentgym_client.errors import EnvClientError, ServerProblem, TransportError
from agentgym_client.exchange import Exchange, Header, Reply

PREFIX = "urn:agentevol:problem:"
JSON_HEADERS: tuple[Header, ...] = ((b"content-type", b"application/json"), (b"accept", b"application/json"))
LATER = (429, 503)
MEMBERS = ("type", "title", "status", "detail", "instance", "retryable")

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class RetryRules:
    """How often and how long a request is repeated."""

    retries: int = 8
    """Repeats after no answer, one after another."""
    patience_s: float = 600.0
    """How long a server that says 429 or 503 is waited for."""
    first_pause_s: float = 0.05
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int) -> float:
        """Seconds before repeat number `attempt` (from 0): doubling, with jitter, bounded."""
        longest = min(self.longest_pause_s, self.first_pause_s * 2 ** min(attempt, 16))
        return longest * random.uniform(0.5, 1.0)


class Retries:
    """What one request has been through so far."""

    def __init__(self, rules: RetryRules, now: float) -> None:
        self._rules = rules
        self._impatient_at = now + rules.patience_s
        self._unanswered = 0
        self._refused = 0

    def pause_s(self, error: EnvClientError, now: float) -> float:
        """Seconds to wait before the next repeat; raises `error` where there is none."""
        if isinstance(error, ServerProblem):
            if not error.retryable:
                raise error
            if error.status in LATER:
                return self._later_s(error, now)
        if self._unanswered >= self._rules.retries:
            raise error
        self._unanswered += 1
        return self._rules.pause_s(self._unanswered - 1)

    def _later_s(self, problem: ServerProblem, now: float) -> float:
        pause_s = max(self._rules.pause_s(self._refused), _retry_after_s(problem))
        if now + pause_s > self._impatient_at:
            raise problem
        self._refused += 1
        return pause_s


class Caller:
    """Sends requests through an exchange by these rules; `timeout_s` bounds one attempt."""

    def __init__(self, exchange: Exchange, token: str | None, timeout_s: float, rules: RetryRules) -> None:
        self._exchange = exchange
        self._headers = JSON_HEADERS
        if token is not None:
            self._headers += ((b"authorization", b"Bearer " + token.encode()),)
        self._timeout_s = timeout_s
        self._rules = rules

    async def call(
        self, method: str, target: str, body: object = None, headers: tuple[Header, ...] = ()
    ) -> Any:
        """The JSON value of a successful reply; raises `ServerProblem` or `TransportError`."""
        content = b"" if body is None else encoded(body)
        retries = Retries(self._rules, asyncio.get_running_loop().time())
        while True:
            try:
                return _value(await self._attempt(method, target, self._headers + headers, content))
            except EnvClientError as error:
                pause_s = retries.pause_s(error, asyncio.get_running_loop().time())
            await asyncio.sleep(pause_s)

    async def close(self) -> None:
        """Give back connections."""
        await self._exchange.close()

    async def _attempt(self, method: str, target: str, headers: tuple[Header, ...], content: bytes) -> Reply:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._exchange.send(method, target, headers, content)
        except TimeoutError:
            raise TransportError(f"{method} {target}: no answer within {self._timeout_s:g} s") from None


def encoded(body: object) -> bytes:
    """A body as JSON; lone surrogates, which no UTF-8 has, become question marks."""
    return _encode(body).encode("utf-8", "replace")


def _value(reply: Reply) -> Any:
    try:
        value = json.loads(reply.body)
    except ValueError:
        raise TransportError(f"status {reply.status} with a body that is no JSON") from None
    if reply.status < 400:
        return value
    raise _error(reply, value)


def _error(reply: Reply, document: Any) -> EnvClientError:
    """The problem of a reply; what is none comes from a proxy, which is the transport's matter."""
    problem = cast("dict[str, Any]", document) if isinstance(document, dict) else {}
    if not str(problem.get("type")).startswith(PREFIX):
        return TransportError(f"status {reply.status} without a problem document")
    members = {name: value for name, value in problem.items() if name not in MEMBERS}
    retry_after = reply.headers.get(b"retry-after", b"")
    if retry_after.isdigit():
        members["retry_after_s"] = int(retry_after)
    kind = str(problem["type"]).removeprefix(PREFIX)
    detail = str(problem.get("detail", ""))
    return ServerProblem(kind, reply.status, detail, problem.get("retryable") is True, members)


def _retry_after_s(problem: ServerProblem) -> float:
    """What the server asks for, spread so that not everybody comes back at once."""
    asked = problem.members.get("retry_after_s", 0)
    return float(asked) * random.uniform(1.0, 1.25)
