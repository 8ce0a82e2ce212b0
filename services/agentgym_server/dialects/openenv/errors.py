"""Error frames of the OpenEnv dialect with their codes; none has a reward.

{"type": "error", "data": {"message": "Unknown message type: zzz", "code": "UNKNOWN_TYPE"}}
"""

from typing import Any, Literal

from agentgym_server.dialects.openenv.models import Invalid, wrong
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem

Code = Literal[
    "INVALID_JSON",
    "UNKNOWN_TYPE",
    "VALIDATION_ERROR",
    "EXECUTION_ERROR",
    "CAPACITY_REACHED",
    "FACTORY_ERROR",
    "SESSION_ERROR",
]
CODES: dict[str, Code] = {
    "capacity": "CAPACITY_REACHED",
    "session-not-found": "SESSION_ERROR",
    "session-expired": "SESSION_ERROR",
    "session-closed": "SESSION_ERROR",
}
TOLD = ("failure", "incident", "active_sessions", "max_sessions")
"""Members of a problem that this dialect shows."""


class Refusal(Exception):
    """Error reply of a socket."""

    def __init__(self, code: Code, message: str, **members: Any) -> None:
        super().__init__(message)
        self.code = code
        self.members = members

    @property
    def frame(self) -> bytes:
        """The error frame."""
        data = {"message": str(self), "code": self.code, **self.members}
        return strict_json.dump({"type": "error", "data": data})


def no_episode() -> Refusal:
    """The refusal of an operation that needs an episode."""
    return Refusal("EXECUTION_ERROR", "there is no episode yet: send a reset first")


def invalid_message(cause: Invalid) -> Refusal:
    """The refusal of an invalid message or action."""
    return Refusal("VALIDATION_ERROR", "Invalid message", errors=cause.errors)


def refusal(problem: Problem) -> Refusal:
    """A problem as an error of this dialect; `SESSION_ERROR` means that the session is lost."""
    if problem.slug == "validation":
        return invalid_message(invalid(problem))
    return Refusal(CODES.get(problem.slug, "EXECUTION_ERROR"), problem.detail, **told(problem))


def refusal_at_connect(problem: Problem, factory: str) -> Refusal:
    """The error of a new connection without a session; `factory` names the constructor of its environment."""
    if "failure" in problem.members:
        return Refusal("FACTORY_ERROR", problem.detail, factory_name=factory, **told(problem))
    return Refusal(CODES.get(problem.slug, "SESSION_ERROR"), problem.detail, **told(problem))


def told(problem: Problem) -> dict[str, Any]:
    """The members of a problem that this dialect shows."""
    return {name: problem.members[name] for name in TOLD if problem.members.get(name) is not None}


def invalid(problem: Problem) -> Invalid:
    """The problem `validation` in this dialect's list of errors."""
    rows = problem.members["errors"]
    return Invalid(
        [wrong("value_error", row["message"], tuple(row["path"].split("/")[1:]), None) for row in rows]
    )
