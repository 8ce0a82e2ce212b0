"""Requests that are sent until they are answered. Every request of this client is safe to repeat.

No answer at all (refused, reset, timed out) is tried again a few times; a full or draining server is waited
for, as long as the client's patience lasts.
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Protocol

from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_client.operations import Operation
from agentgym_client.websocket import NoLane

LATER = (429, 503)
FAST = ("create", "step", "fork", "lease", "delete")
"""Operations on sessions."""


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


class Lane(Protocol):
    """A way to the server."""

    async def perform(self, operation: Operation, timeout_s: float) -> Any:
        """The result of an operation; raises `EnvClientError`, also after `timeout_s` seconds."""
        ...

    async def close(self) -> None:
        """Give back connections; may be called twice."""
        ...


class Caller:
    """Performs operations by these rules; `timeout_s` bounds one attempt.

    Where there is a fast lane, sessions take it, until the server turns out to have none.
    """

    def __init__(self, rest: Lane, fast: Lane | None, timeout_s: float, rules: RetryRules) -> None:
        self._rest = rest
        self._fast = fast
        self._timeout_s = timeout_s
        self._rules = rules

    async def perform(self, operation: Operation) -> Any:
        """The result of an operation; raises `ServerProblem` or `TransportError`."""
        try:
            return await self._attempt(operation)
        except EnvClientError as error:
            return await self._repeat(operation, error)

    async def close(self) -> None:
        """Give back connections."""
        for lane in (self._rest, self._fast):
            if lane is not None:
                await lane.close()

    async def _attempt(self, operation: Operation) -> Any:
        fast = self._fast if operation.name in FAST else None
        try:
            return await (fast or self._rest).perform(operation, self._timeout_s)
        except NoLane:
            result = await self._rest.perform(operation, self._timeout_s)
            self._fast = None  # not before the server has answered: one that is gone has no lane either
            return result

    async def _repeat(self, operation: Operation, error: EnvClientError) -> Any:
        loop = asyncio.get_running_loop()
        retries = Retries(self._rules, loop.time())
        while True:
            await asyncio.sleep(retries.pause_s(error, loop.time()))
            try:
                return await self._attempt(operation)
            except EnvClientError as again:
                error = again


def _retry_after_s(problem: ServerProblem) -> float:
    """What the server asks for, spread so that not everybody comes back at once."""
    asked = problem.members.get("retry_after_s", 0)
    return float(asked) * random.uniform(1.0, 1.25)
