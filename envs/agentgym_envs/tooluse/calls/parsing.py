"""The parser of tool calls."""

from agentgym_envs.formats import after_thinking
from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.forms import REACT, fenced, react, structured, tagged
from agentgym_envs.tooluse.calls.literals import LONE_SURROGATE, MAX_TEXT, SURROGATES, InvalidLiteral
from agentgym_envs.tooluse.calls.python_syntax import python_calls
from agentgym_envs.tooluse.errors import CallError

FORMS = (structured, tagged, fenced, react)
WITH_PYTHON = (*FORMS, python_calls)
MOST_CALLS = 32
"""Calls of one message: a step of more would keep other episodes of a server waiting."""
MARKS = ("<tool_call>", "✿FUNCTION✿", "```json", "```tool_call")


def parse(message: str, *, python: bool = False, most: int = MOST_CALLS) -> tuple[Call, ...]:
    """The calls of a message, at least one and `most` at most; reasoning before `</think>` is not read.

    `python`: also calls in Python's syntax. Raises `CallError` with the code `parse_error` where no form
    matches, with the problem of the form that the message comes closest to, and `limit` for too many calls.
    """
    text = after_thinking(message) if "think>" in message else message
    if len(text) > MAX_TEXT:
        raise CallError("parse_error", f"the message is longer than {MAX_TEXT} characters")
    problem, forms = "", WITH_PYTHON if python else FORMS
    if not text.isascii() and SURROGATES.search(text):
        problem, forms = LONE_SURROGATE, ()
    for form in forms:
        try:
            found = form(text)
        except InvalidLiteral as invalid:
            problem = problem or str(invalid)
            continue
        if found and len(found) > most:
            raise CallError(
                "limit", f"{len(found)} calls in one message; {most} at most", expected={"maximum": most}
            )
        if found:
            return found
    raise CallError(
        "parse_error",
        f"no tool call could be read: {problem or 'the message has none'}",
        expected={"name": "the tool", "arguments": {}},
    )


def mentions_call(message: str) -> bool:
    """True if a message is meant as a call, well formed or not; False for plain text to a reader."""
    text = (after_thinking(message) if "think>" in message else message).strip()
    return text[:1] in ("{", "[") or any(mark in text for mark in MARKS) or REACT.search(text) is not None
