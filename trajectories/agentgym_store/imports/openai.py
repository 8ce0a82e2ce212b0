"""Message logs of OpenAI's chat API and of TRL, with tool calls.

    {"messages": [{"role": "user", "content": "..."},
                  {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
                  {"role": "tool", "content": "..."}], "tools": [...], "reward": 1.0}

A request with its response is read too: `request.messages`, and `response.choices`. Calls become the JSON
that environments of tools read, and what was said beside them the thought before it.
"""

import json
from typing import Any

from pydantic import TypeAdapter

from agentgym_envs.formats import render_thinking
from agentgym_envs.tools import with_changed_tools
from agentgym_store.imports.contract import Draft, Importer, Shape, members, validated
from agentgym_store.imports.conversation import Said, conversation, drafted, speaker
from agentgym_store.imports.reading import DECODER, Refusal
from agentgym_store.records import Trajectory

NOT_TEXT = "content that is not text"
BAD_ARGUMENTS = "arguments of a call that are not a JSON object"
BAD_TOOLS = "tools that are not a list of functions with a name"


class _Part(Shape):
    type: str
    text: str = ""


class _Function(Shape):
    name: str
    arguments: str | dict[str, Any] = "{}"


class _Call(Shape):
    function: _Function


class _Message(Shape):
    role: str
    content: str | list[_Part] | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None
    function_call: _Function | None = None


class _Choice(Shape):
    message: _Message


class _Described(Shape):
    name: str


class _Tool(Shape):
    function: _Described


_TOOLS = TypeAdapter(list[_Tool])


class _Log(Shape):
    id: str | int | None = None
    messages: list[_Message]
    choices: tuple[_Choice, ...] = ()
    tools: Any = None


class OpenAI(Importer):
    """Messages with roles."""

    name = "openai"
    summary = "A conversation of OpenAI's messages, with tool calls if there are any."

    def recognises(self, record: Any) -> bool:
        """See `Importer`."""
        found = members(record)
        return "messages" in found or "messages" in members(found.get("request"))

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        log = validated(_Log, _flat(record))
        messages = [*log.messages, *(choice.message for choice in log.choices[:1])]
        opening, turns = conversation([Said(speaker(one.role), _text(one)) for one in messages])
        opening = with_changed_tools(opening, _tools(log.tools or []))
        return drafted(record, opening, turns, name=log.id)


def _tools(told: Any) -> list[dict[str, Any]]:
    """The tools of a log, which may be a text of JSON."""
    try:
        tools = DECODER.decode(told) if isinstance(told, str) else told
        _TOOLS.validate_python(tools)
    except (ValueError, RecursionError) as cause:
        raise Refusal(BAD_TOOLS) from cause
    return tools


def _flat(record: Any) -> dict[str, Any]:
    """A log of request and response as one object."""
    found = members(record)
    answer = members(found.get("response"))
    given = {name: value for name, value in found.items() if value is not None}
    choices = answer.get("choices") or found.get("choices") or ()
    return {**members(found.get("request")), **given, "choices": choices}


def _text(message: _Message) -> str:
    """The message as text: the thought, then what was said or called."""
    content = _content(message)
    calls = [
        *(message.tool_calls or ()),
        *([_Call(function=message.function_call)] if message.function_call else ()),
    ]
    if speaker(message.role) != "agent" or not (calls or message.reasoning_content):
        return content
    thought = "\n\n".join(text for text in (message.reasoning_content, content if calls else "") if text)
    called = [_called(call.function) for call in calls]
    action = content if not calls else called[0] if len(called) == 1 else f"[{', '.join(called)}]"
    return render_thinking(thought, action) if thought else action


def _content(message: _Message) -> str:
    if isinstance(message.content, str) or message.content is None:
        return message.content or ""
    if any(part.type not in ("text", "input_text", "output_text") for part in message.content):
        raise Refusal(NOT_TEXT, next(part.type for part in message.content if "text" not in part.type)[:80])
    return "\n".join(part.text for part in message.content)


def _called(function: _Function) -> str:
    given = function.arguments
    try:
        arguments: Any = DECODER.decode(given or "{}") if isinstance(given, str) else given
    except (ValueError, RecursionError) as cause:
        raise Refusal(BAD_ARGUMENTS, function.name[:80]) from cause
    if not isinstance(arguments, dict):
        raise Refusal(BAD_ARGUMENTS, function.name[:80])
    return json.dumps({"name": function.name, "arguments": arguments}, ensure_ascii=False)
