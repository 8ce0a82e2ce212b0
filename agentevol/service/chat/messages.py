"""Chat messages of OpenAI's API in a canonical, comparable form.

{"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
 "function": {"name": "look", "arguments": "{\"at\": \"desk\"}"}}]}
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from agentevol.service.errors import invalid
from agentgym_server.wire import strict_json

ROLES = {
    "system": "system",
    "developer": "system",  # OpenAI's newer name, which chat templates do not support
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MEMBERS = {"role", "content", "name", "tool_calls", "tool_call_id"}


@dataclass(frozen=True)
class ToolCall:
    """Tool call of an assistant."""

    id: str
    name: str
    arguments: Any
    """Value of the JSON text; the text itself if it is not JSON."""

    def as_json(self) -> dict[str, Any]:
        """OpenAI's JSON form."""
        text = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": text}}

    def for_template(self) -> dict[str, Any]:
        """Form for chat templates: arguments as an object."""
        return {**self.as_json(), "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True)
class ChatMessage:
    """Chat message; several text parts are joined."""

    role: str
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    name: str | None = None
    tool_call_id: str | None = None

    def repeats(self, said: "ChatMessage") -> bool:
        """True if this message of a client repeats the reply `said`.

        Surrounding white space and ids of calls are ignored: frameworks strip the former and replace the
        latter, and training uses the token ids anyway.
        """
        if self.role != "assistant":
            return self == said
        calls = [(call.name, call.arguments) for call in self.tool_calls]
        return (
            said.role == "assistant"
            and self.text.strip() == said.text.strip()
            and calls == [(call.name, call.arguments) for call in said.tool_calls]
        )

    def as_json(self) -> dict[str, Any]:
        """OpenAI's JSON form."""
        return self._written([call.as_json() for call in self.tool_calls], self.text or None)

    def for_template(self) -> dict[str, Any]:
        """Form for chat templates."""
        return self._written([call.for_template() for call in self.tool_calls], self.text)

    def _written(self, calls: list[dict[str, Any]], content: str | None) -> dict[str, Any]:
        content = content if calls else self.text
        members = {"role": self.role, "content": content, "name": self.name, "tool_calls": calls or None}
        members["tool_call_id"] = self.tool_call_id
        return {name: value for name, value in members.items() if value is not None or name == "content"}


def parse_messages(values: Sequence[Any]) -> tuple[ChatMessage, ...]:
    """The conversation of a request. Raises `Refusal` for a conversation that a model cannot answer."""
    if not values:
        raise invalid("messages is empty: a model answers something", "messages")
    messages = tuple(_message(value, f"messages[{place}]") for place, value in enumerate(values))
    if messages[-1].role == "assistant":
        raise invalid(
            "the last message is the assistant's: replies are not continued",
            f"messages[{len(messages) - 1}].role",
        )
    return messages


def _message(value: Any, where: str) -> ChatMessage:
    members = _object(value, where)
    role = members.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise invalid(f"role must be one of: {', '.join(ROLES)}", f"{where}.role")
    strange = sorted(name for name in members.keys() - MEMBERS if members[name] not in (None, [], {}))
    if strange:
        raise invalid(f"{strange[0]} is not a supported member of messages", f"{where}.{strange[0]}")
    calls = _tool_calls(members.get("tool_calls"), role, f"{where}.tool_calls")
    content = members.get("content")
    if content is None and role != "assistant":
        raise invalid("content is required", f"{where}.content")
    return ChatMessage(
        role=ROLES[role],
        text=_text(content, f"{where}.content"),
        tool_calls=calls,
        name=_optional(members.get("name"), f"{where}.name"),
        tool_call_id=_optional(members.get("tool_call_id"), f"{where}.tool_call_id"),
    )


def _text(content: Any, where: str) -> str:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        raise invalid("content must be a string, or an array of text parts", where)
    texts: list[str] = []
    for place, part in enumerate(cast("list[Any]", content)):
        members = _object(part, f"{where}[{place}]")
        text = members.get("text")
        if members.get("type") != "text" or not isinstance(text, str):
            raise invalid("only parts of type text can be read by this model", f"{where}[{place}]")
        texts.append(text)
    return "".join(texts)


def _tool_calls(value: Any, role: str, where: str) -> tuple[ToolCall, ...]:
    if value in (None, []):
        return ()
    if role != "assistant" or not isinstance(value, list):
        raise invalid("tool_calls are an array, and the assistant's", where)
    return tuple(_tool_call(call, f"{where}[{n}]") for n, call in enumerate(cast("list[Any]", value)))


def _tool_call(value: Any, where: str) -> ToolCall:
    call = _object(value, where)
    function = _object(call.get("function"), f"{where}.function")
    name, arguments = function.get("name"), function.get("arguments", "{}")
    if call.get("type", "function") != "function" or not isinstance(name, str):
        raise invalid("a tool call is of type function and has a function.name", where)
    if not isinstance(arguments, str):
        raise invalid("arguments are a string of JSON", f"{where}.function.arguments")
    return ToolCall(_optional(call.get("id"), f"{where}.id") or "", name, _arguments(arguments))


def _arguments(text: str) -> Any:
    try:
        value = strict_json.parse_text(text)
    except strict_json.InvalidJson:
        return text
    return value if isinstance(value, dict) else text


def _object(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise invalid("must be an object", where)
    return cast("dict[str, Any]", value)


def _optional(value: Any, where: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise invalid("must be a string", where)
    return value
