"""Forms of tool calls: each reads one form from a message.

A form returns None for a message that is not of its form, and raises `InvalidLiteral` for one that is, with
a malformed call.
"""

import re
from typing import Any, cast

from agentgym_envs.tooluse.calls.call import Call
from agentgym_envs.tooluse.calls.literals import InvalidLiteral, json_prefix, json_value, python_value

Calls = tuple[Call, ...]

TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
"""A block of Hermes and Qwen; the last one may lack its end, at which models are made to stop."""
XML_CALL = re.compile(r"\s*<function=([^<>\s]{1,256})>(.*)</function>\s*", re.DOTALL)
XML_ARGUMENT = re.compile(r"\s*<parameter=([^<>\s]{1,256})>\n?(.*?)\n?</parameter>\s*", re.DOTALL)
QWEN_AGENT = re.compile(
    r"✿FUNCTION✿:([^\n]{1,300})\n\s*✿ARGS✿:(.*?)(?=✿FUNCTION✿|✿RESULT✿|✿RETURN✿|\Z)", re.DOTALL
)
FENCED = re.compile(r"```(?:json|tool_call)[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
REACT = re.compile(
    r"Action:[ \t]*([^\s:]{1,256})(?:[ \t]+with[ \t]+Action[ \t]+Input:|[ \t]*\n[ \t]*Action[ \t]+Input:)"
)


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
    found = list(REACT.finditer(text))
    return (Call(found[-1].group(1), _react_arguments(text[found[-1].end() :])),) if found else None


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
        for written in (text, text.strip().partition("\n")[0]):
            try:
                return _arguments(python_value(written))
            except InvalidLiteral:
                continue
        raise InvalidLiteral(f"the Action Input is no object: {problem}") from None
