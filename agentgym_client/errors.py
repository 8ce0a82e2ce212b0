"""Exceptions of the client.

EnvClientError
├── ServerProblem            the server answered with a problem (RFC 9457): `kind` is its slug
├── TransportError           no usable answer: refused, reset, timed out, garbled
└── EnvInfrastructureError   either of them, or a broken environment, as a Gymnasium environment raises it

They are raised after the retries. None is ever an outcome of an episode.
"""

from typing import Any, cast


class EnvClientError(Exception):
    """Base of all exceptions of the client."""


class ServerProblem(EnvClientError):
    """The server refused or failed; `members` are the problem document's own members."""

    def __init__(self, kind: str, status: int, detail: str, retryable: bool, members: dict[str, Any]) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        """Slug of the problem: `worker-lost`, `task-not-found`, ..."""
        self.status = status
        self.detail = detail
        self.retryable = retryable
        """True if repeating the same request cannot act twice."""
        self.members = members

    @property
    def failure(self) -> str:
        """Kind of the failure: that of the episode if it has one, else `kind`."""
        failure: object = self.members.get("failure")
        if not isinstance(failure, dict):
            return self.kind
        return str(cast("dict[str, object]", failure).get("kind", self.kind))


class TransportError(EnvClientError):
    """No usable response came, after all retries."""


class EnvInfrastructureError(EnvClientError):
    """Failure around or in an environment: the episode gets neither a reward nor an end from it."""

    def __init__(self, kind: str, retryable: bool, detail: str = "") -> None:
        super().__init__(kind, retryable, detail)  # arguments for pickle, for vector environments
        self.kind = kind
        """`transport`, or a slug of the server: `worker-lost`, `step-timeout`, `internal`, ..."""
        self.retryable = retryable
        """True if calling the same method again may succeed, and cannot act twice."""
        self.detail = detail

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind
