"""Problems: errors of the server as RFC 9457 documents.

{"type": "urn:agentevol:problem:turn-conflict", "title": "Out-of-turn step", "status": 409,
 "detail": "expected turn 4, got 6", "instance": "/sessions/s_.../steps",
 "expected_turn": 4, "given_turn": 6, "retryable": false}
"""

import logging
import secrets
import traceback
from typing import Any, NamedTuple

log = logging.getLogger(__name__)

PREFIX = "urn:agentevol:problem:"
ECHO_LIMIT = 256
"""Maximum number of characters of a caller's input that an error repeats."""


class Kind(NamedTuple):
    """Properties that all problems of one slug share."""

    status: int
    title: str


KINDS: dict[str, Kind] = {
    "bad-request": Kind(400, "Malformed request"),
    "invalid-json": Kind(400, "Malformed JSON"),
    "unauthorized": Kind(401, "Missing or wrong token"),
    "forbidden-origin": Kind(403, "Foreign Host or Origin"),
    "forbidden-scope": Kind(403, "Token of another scope"),
    "not-found": Kind(404, "No such route"),
    "env-not-found": Kind(404, "No such environment"),
    "task-not-found": Kind(404, "No such task"),
    "session-not-found": Kind(404, "No such session"),
    "method-not-allowed": Kind(405, "Method not allowed"),
    "request-timeout": Kind(408, "Request too slow"),
    "turn-conflict": Kind(409, "Out-of-turn step"),
    "out-of-turn": Kind(409, "Another seat's turn"),
    "action-mismatch": Kind(409, "Another action has this turn"),
    "session-ended": Kind(409, "Episode is over"),
    "session-failed": Kind(409, "Episode failed"),
    "session-expired": Kind(410, "Session expired"),
    "session-closed": Kind(410, "Session closed"),
    "payload-too-large": Kind(413, "Body too large"),
    "uri-too-long": Kind(414, "URL too long"),
    "unsupported-media-type": Kind(415, "Unsupported media type"),
    "validation": Kind(422, "Invalid request"),
    "idempotency-key-reused": Kind(422, "Idempotency key reused"),
    "head-too-large": Kind(431, "Header block too large"),
    "too-many-in-flight": Kind(429, "Too many operations in flight"),
    "rate-limited": Kind(429, "Too many requests"),
    "internal": Kind(500, "Internal error"),
    "unsupported-operation": Kind(501, "Unsupported operation"),
    "worker-lost": Kind(502, "Worker lost"),
    "partner": Kind(502, "Partner lost"),
    "judge": Kind(502, "Judge failed"),
    "verifier": Kind(502, "Verifier failed"),
    "capacity": Kind(503, "All sessions in use"),
    "overloaded": Kind(503, "Queue full"),
    "partner-turn": Kind(503, "A partner has not acted yet"),
    "unavailable": Kind(503, "No server can take this now"),
    "draining": Kind(503, "Server is draining"),
    "step-timeout": Kind(504, "Step deadline exceeded"),
}

RETRY_LATER = frozenset({408, 429, 503})
"""Statuses of requests that were not executed: repeating them cannot act twice."""


class Problem(Exception):
    """Error that is returned to the caller; `members` are additional members of the document."""

    def __init__(self, slug: str, detail: str, *, retryable: bool | None = None, **members: Any) -> None:
        super().__init__(f"{slug}: {detail}")
        self.slug = slug
        self.status, self.title = KINDS[slug]
        self.detail = detail
        self.retryable = self.status in RETRY_LATER if retryable is None else retryable
        self.members = members
        self.headers: tuple[tuple[bytes, bytes], ...] = ()
        if self.status in (429, 503):
            self.headers = ((b"retry-after", b"1"),)

    def document(self, instance: str | None = None) -> dict[str, Any]:
        """The JSON document; `instance` is the path that had the problem."""
        document: dict[str, Any] = {
            "type": PREFIX + self.slug,
            "title": self.title,
            "status": self.status,
            "detail": self.detail,
        }
        if instance is not None:
            document["instance"] = clipped(instance)
        return {**document, **self.members, "retryable": self.retryable}


def clipped(text: str) -> str:
    """At most `ECHO_LIMIT` characters of a caller's input, valid for UTF-8."""
    return text[:ECHO_LIMIT].encode("utf-8", "replace").decode()


def internal_problem(cause: Exception) -> Problem:
    """The problem of a fault in the server itself, which is logged under an incident."""
    incident = secrets.token_hex(8)
    log.error("incident %s\n%s", incident, "".join(traceback.format_exception(cause)))
    return Problem("internal", "the server has a bug; its log has the details", incident=incident)
