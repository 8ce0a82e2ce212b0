"""Tools of requests, and tool calls in replies, in Hermes format.

<tool_call>
{"name": "look", "arguments": {"at": "desk"}}
</tool_call>
"""

import re
import secrets
from typing import Any, cast

from agentevol.service.chat.messages import ToolCall
from agentevol.service.errors import invalid
from agentgym_server.wire import strict_json

MAX_TOOLS = 128
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
BLOCK = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


def parse_tools(values: list[Any]) -> tuple[dict[str, Any], ...]:
    """The tools of a request, in the form for the chat template. Raises `Refusal`."""
    if len(values) > MAX_TOOLS:
        raise invalid(f"at most {MAX_TOOLS} tools", "tools")
    return tuple(_tool(value, f"tools[{place}]") for place, value in enumerate(values))


def _tool(value: Any, where: str) -> dict[str, Any]:
    tool = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict):
        raise invalid("a tool is an object of type function with a function", where)
    members = cast("dict[str, Any]", function)
    name, parameters = members.get("name"), members.get("parameters")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise invalid("a name has 1 to 64 letters, digits, _ and -", f"{where}.function.name")
    if parameters is not None and not isinstance(parameters, dict):
        raise invalid("parameters are a JSON schema", f"{where}.function.parameters")
    kept = {key: member for key, member in members.items() if key != "strict" and member is not None}
    return {"type": "function", "function": kept}


def asks_for_strictness(values: list[Any]) -> bool:
    """True if a tool requires strict schema adherence, which is not enforced here."""
    functions = [value.get("function") for value in values if isinstance(value, dict)]
    return any(isinstance(function, dict) and function.get("strict") is True for function in functions)


def parse_reply(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """Text and tool calls of a reply; a reply with a malformed call is all text."""
    calls = [_call(block) for block in BLOCK.findall(text)]
    beside = BLOCK.sub("", text)
    if not calls or None in calls or "<tool_call>" in beside or "</tool_call>" in beside:
        return text, ()
    return beside.strip(), tuple(call for call in calls if call is not None)


def _call(block: str) -> ToolCall | None:
    try:
        value = strict_json.parse_text(block)
    except strict_json.InvalidJson:
        return None
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, Any]", value)
    name, arguments = members.get("name"), members.get("arguments", {})
    if not isinstance(name, str) or not isinstance(arguments, dict):
        return None
    return ToolCall(f"call_{secrets.token_hex(12)}", name, arguments)
