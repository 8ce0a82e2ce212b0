"""Retry rules for requests. Every request of this client is safe to repeat.

A request without a response (refused, reset, timed out) is retried a few times; the client waits for a full
or draining server up to `patience_s`.
"""

import asyncio
import random
from dataclasses import dataclass
from typing import Any, Protocol

from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_client.operations import Operation
from agentgym_client.websocket import NoLane

LATER = (429, 503)
FAST = ("create", "step", "fork", "lease", "get", "delete")
"""Operations on sessions."""


@dataclass(frozen=True)
class RetryRules:
    """Limits on the retries of a request."""

    retries: int = 8
    """Consecutive retries after no response."""
    patience_s: float = 600.0
    """Maximum wait for a server that responds 429 or 503, seconds."""
    first_pause_s: float = 0.05
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int) -> float:
        """Seconds before retry number `attempt` (from 0): doubling, with jitter, bounded."""
        longest = min(self.longest_pause_s, self.first_pause_s * 2 ** min(attempt, 16))
        return longest * random.uniform(0.5, 1.0)


class Retries:
    """Retry state of one request."""

    def __init__(self, rules: RetryRules, now: float) -> None:
        self._rules = rules
        self._impatient_at = now + rules.patience_s
        self._unanswered = 0
        self._refused = 0

    def pause_s(self, error: EnvClientError, now: float) -> float:
        """Seconds to wait before the next retry; raises `error` if there is none."""
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
    """Transport of operations to the server."""

    async def perform(self, operation: Operation, timeout_s: float) -> Any:
        """The result of an operation; raises `EnvClientError`, also after `timeout_s` seconds."""
        ...

    async def close(self) -> None:
        """Close the connections; may be called twice."""
        ...


class Caller:
    """Performs operations with retries; `timeout_s` bounds one attempt.

    Operations on sessions use the fast lane, until the server turns out to have none.
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
        """Close the connections."""
        for lane in (self._rest, self._fast):
            if lane is not None:
                await lane.close()

    async def _attempt(self, operation: Operation) -> Any:
        fast = self._fast if operation.name in FAST else None
        try:
            return await (fast or self._rest).perform(operation, self._timeout_s)
        except NoLane:
            result = await self._rest.perform(operation, self._timeout_s)
            self._fast = None  # only after a response: an unreachable server has no lane either
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
    """The delay that the server asks for, with jitter so that clients do not return at once."""
    asked = problem.members.get("retry_after_s", 0)
    return float(asked) * random.uniform(1.0, 1.25)
