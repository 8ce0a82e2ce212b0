"""Errors of tool calls, which the agent observes.

CallError               a call that could not be executed
└── ToolError           raised by a tool: the arguments are well formed, and the state does not allow them
"""

from typing import Any, Literal

Code = Literal["parse_error", "unknown_tool", "invalid_arguments", "tool_error", "limit", "episode_done"]
INVALID: frozenset[Code] = frozenset({"parse_error", "unknown_tool", "invalid_arguments"})
"""Codes of actions that no tool has read."""


class CallError(Exception):
    """A call that was not executed; the state is as before it."""

    def __init__(
        self, code: Code, message: str, *, argument: str | None = None, expected: object = None
    ) -> None:
        super().__init__(message)
        self.code: Code = code
        self.message = message
        self.argument = argument
        """Path of the bad argument, for example `fields.email` or `contact_ids[2]`."""
        self.expected = expected
        """Value that would have been accepted, as JSON: names, a type, a bound."""

    def as_json(self) -> dict[str, Any]:
        """The error as the agent reads it."""
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "argument": self.argument,
                "expected": self.expected,
            }
        }


class ToolError(CallError):
    """A tool refuses its arguments.

    > raise ToolError("not_found: there is no contact 7", argument="contact_id")
    """

    def __init__(self, message: str, *, argument: str | None = None, expected: object = None) -> None:
        super().__init__("tool_error", message, argument=argument, expected=expected)
