"""Forms of tool calls: each reads one form from a message.

A form returns None for a message that is not of its form, and raises `InvalidLiteral` for one that is, with
a malformed call.
"""

import re
from typing import Any, cast

from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.literals import (
    InvalidLiteral,
    check_literal,
    json_prefix,
    json_value,
    python_value,
)

Calls = tuple[Call, ...]

TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
"""A block of Hermes and Qwen; the last one may lack its end, at which models are made to stop."""
XML_CALL = re.compile(r"\s*<function=([^<>\s]{1,256})>(.*)</function>\s*", re.DOTALL)
XML_ARGUMENT = re.compile(r"\s*<parameter=([^<>\s]{1,256})>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
QWEN_AGENT = re.compile(
    r"✿FUNCTION✿:([^\n]{1,300})\n\s*✿ARGS✿:(.*?)(?=✿FUNCTION✿|✿RESULT✿|✿RETURN✿|\Z)", re.DOTALL
)
FENCED = re.compile(r"```(?:json|tool_call)[ \t]*\r?\n(.*?)(?:```|\Z)", re.DOTALL)
REACT = re.compile(
    r"^[ \t]*Action:[ \t]*([^\s:]{1,256})"
    r"(?:[ \t]+with[ \t]+Action[ \t]+Input:|[ \t]*\r?\n[ \t]*Action[ \t]+Input:)",
    re.MULTILINE,
)
"""At the start of a line: what a thought mentions is no action."""
MOST_UNENDED = 8
"""Arguments without an end that are looked through for one; each costs a pass over the message."""
QUOTED_OR_BRACKET = re.compile(
    r"""[\[\]{}]|"(?:[^"\\]|\\.)*(?:"|\\?\Z)|'(?:[^'\\]|\\.)*(?:'|\\?\Z)""", re.DOTALL
)
"""A quote without an end runs to the end of the text, so that no character is read twice."""


def structured(text: str) -> Calls | None:
    """JSON: a call, a list of calls, or a message with `tool_calls`."""
    bare = text.strip()
    return calls_in(json_value(bare)) if bare[:1] in ("{", "[") else None


def tagged(text: str) -> Calls | None:
    """Blocks of `<tool_call>` with JSON (Hermes, Qwen) or XML (Qwen3-Coder), or Qwen-Agent's form."""
    if "<tool_call>" in text:
        return tuple(call for block in TAGGED.findall(text) for call in _block(block))
    if "✿FUNCTION✿" in text:
        found = [Call(name.strip(), _arguments(value)) for name, value in QWEN_AGENT.findall(text)]
        if not found:
            raise InvalidLiteral("✿FUNCTION✿ is not followed by a name and ✿ARGS✿")
        return tuple(found)
    return None


def fenced(text: str) -> Calls | None:
    """Fenced blocks, of the language json or tool_call, with structured calls."""
    blocks = FENCED.findall(text)
    return tuple(call for block in blocks for call in calls_in(json_value(block))) if blocks else None


def react(text: str) -> Calls | None:
    """`Action: NAME with Action Input: {...}`, also on two lines; the last one of the message."""
    last, position, unended = None, 0, 0
    while (found := REACT.search(text, position)) is not None:
        last, position = found, found.end()
        if unended < MOST_UNENDED:
            end = _end_of_brackets(text, position)
            unended, position = (unended + 1, position) if end is None else (unended, end)
    return None if last is None else (Call(last.group(1), _react_arguments(text[last.end() :])),)


def _end_of_brackets(text: str, start: int) -> int | None:
    """The end of the bracketed value that begins at `start`: an action that it quotes is none. `start` where
    no bracket follows, None where they do not end.
    """
    depth = 0
    for found in QUOTED_OR_BRACKET.finditer(text, start):
        if depth == 0 and text[start : found.start()].strip():
            return start
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth <= 0:
            return found.end()
    return None if depth else start


def calls_in(value: object) -> Calls:
    """The calls of a decoded JSON value."""
    if isinstance(value, list):
        return tuple(call for one in cast("list[object]", value) for call in calls_in(one))
    if not isinstance(value, dict):
        raise InvalidLiteral("a call is an object with name and arguments")
    members = cast("dict[str, object]", value)
    if isinstance(members.get("tool_calls"), list):
        return calls_in(members["tool_calls"])
    function = members.get("function")
    if isinstance(function, dict):
        members = cast("dict[str, object]", function)
    name = members.get("name")
    if not isinstance(name, str):
        raise InvalidLiteral("a call is an object with name and arguments")
    return (Call(name, _arguments(members.get("arguments"))),)


def _block(text: str) -> Calls:
    found = XML_CALL.fullmatch(text)
    if found is None:
        return calls_in(json_value(text))
    arguments = dict[str, Any]()
    position, body = 0, found.group(2)
    while match := XML_ARGUMENT.match(body, position):
        name = match.group(1)
        if name in arguments:
            raise InvalidLiteral(f"the parameter {name[:80]!r} occurs twice")
        arguments[name] = match.group(2)
        position = match.end()
    if body[position:].strip():
        raise InvalidLiteral("text stands between the parameters of a call")
    check_literal(arguments)
    return (Call(found.group(1), arguments, texts=True),)


def _arguments(value: object) -> dict[str, Any]:
    """The arguments of a call: an object, the JSON text of one, or nothing."""
    if isinstance(value, str):
        value = json_value(value) if value.strip() else None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidLiteral("the arguments of a call are an object")
    return cast("dict[str, Any]", value)


def _react_arguments(text: str) -> dict[str, Any]:
    """An object of JSON or Python; what a model adds on later lines is not read."""
    try:
        return _arguments(json_prefix(text)[0])
    except InvalidLiteral as problem:
        reason = str(problem)
        for written in (text, text.strip().partition("\n")[0]):
            try:
                return _arguments(python_value(written))
            except InvalidLiteral as python:
                reason = reason if str(python) == "not a literal" else str(python)
        raise InvalidLiteral(f"the Action Input is no object: {reason}") from None
