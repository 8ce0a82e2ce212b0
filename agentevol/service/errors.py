"""Errors of the service in OpenAI's format.

{"error": {"message": "no session has this id", "type": "invalid_request_error", "param": null,
           "code": "session_not_found"}}
"""

from typing import Any

from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import Problem, clipped
from agentgym_server.wire.reply import Headers, Reply

CODES = {"unauthorized": "invalid_api_key", "validation": "invalid_value"}
"""OpenAI's codes for slugs of the environment server's problems."""
TYPES = {400: "invalid_request_error", 429: "rate_limit_error"}


class Refusal(Exception):
    """Request that is not executed; `param` names the invalid member, as in `messages[0].role`."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Headers = (),
    ) -> None:
        super().__init__(message)
        self.status, self.code, self.message, self.param = status, code, clipped(message), param
        self.headers = headers
        if status in (429, 503) and not headers:
            self.headers = ((b"retry-after", b"1"),)

    def document(self) -> dict[str, Any]:
        """The JSON document."""
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        error = {
            "message": self.message,
            "type": TYPES.get(self.status, default),
            "param": self.param,
            "code": self.code,
        }
        return {"error": error}

    def reply(self) -> Reply:
        """The response to the request."""
        return Reply(self.status, strict_json.dump(self.document()), self.headers)


def invalid(message: str, param: str | None = None, code: str = "invalid_value") -> Refusal:
    """The refusal of a request that is invalid in itself."""
    return Refusal(400, code, message, param=param)


def from_problem(problem: Problem) -> Refusal:
    """The refusal for a problem of the code shared with the environment server."""
    errors = problem.members.get("errors") or [{"path": ""}]
    param = ".".join(errors[0]["path"].split("/")[1:]) or None
    status = 400 if problem.slug == "validation" else problem.status
    code = CODES.get(problem.slug, problem.slug.replace("-", "_"))
    return Refusal(status, code, problem.detail, param=param, headers=problem.headers)
