"""Error replies in the formats of AgentGym's three dialects.

A  200 {"error": "The id 7 is not valid."}
B  500 Internal Server Error: The id 7 is not valid.
C  200 {"observation": "The id 7 is not valid.", "error": "The id 7 is not valid."}

The classes of `agentenv.envs` raise an exception at each of these: none holds a reward.
"""

from typing import Any, Literal

from starlette.responses import JSONResponse, PlainTextResponse, Response

from agentgym_server.dialects.agentgym.request_fields import Unfit
from agentgym_server.wire.problems import Problem, clipped

Dialect = Literal["A", "B", "C"]


class Refusal(Exception):
    """Well-formed request that cannot be answered; the text gives the reason."""


def refused(dialect: Dialect, operation: str, cause: Refusal | Unfit | Problem) -> Response:
    """The error reply to `operation`."""
    if isinstance(cause, Unfit):
        return _unfit(cause.errors)
    if isinstance(cause, Refusal):
        return _caught(dialect, operation, clipped(str(cause)))
    if cause.slug == "validation":
        return _unfit([_fastapi_error(error) for error in cause.members["errors"]])
    return _problem(dialect, operation, cause)


def _problem(dialect: Dialect, operation: str, problem: Problem) -> Response:
    if problem.status == 503 and dialect != "A":  # not started: clients of dialect B retry
        return PlainTextResponse(problem.detail, 503, {"retry-after": "1"})
    if dialect == "B" and operation == "step":  # clients retry a 500 five times
        return JSONResponse({"error": problem.detail})
    return _caught(dialect, operation, problem.detail)


def _caught(dialect: Dialect, operation: str, text: str) -> Response:
    if dialect == "A":
        return JSONResponse({"error": text})
    if dialect == "B":
        return PlainTextResponse(f"Internal Server Error: {text}", 500)
    # this word makes the client's `reset` raise
    return JSONResponse({"observation": "TimeoutError" if operation == "reset" else text, "error": text})


def _unfit(errors: list[dict[str, Any]]) -> Response:
    return JSONResponse({"detail": errors}, 422)


def _fastapi_error(error: dict[str, str]) -> dict[str, Any]:
    location = ["body", *error["path"].split("/")[1:]]
    return {"type": "value_error", "loc": location, "msg": error["message"]}
