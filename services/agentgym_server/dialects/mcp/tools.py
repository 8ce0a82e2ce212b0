"""Tools of a session in MCP's format, and tool calls, which play turns.

The tools are those of the environment, and `say` where its agents also speak; one without tools is played
through `act` and `look`. Operations of the trainer (reset, fork, close, rewards) are no tools.
"""

import inspect
import itertools
import json
from collections.abc import Sequence
from typing import Any, cast

from agentgym_envs.tools import mcp_tool
from agentgym_server.dialects.json_rpc import INVALID_PARAMS
from agentgym_server.dialects.mcp.messages import Json, Message, RpcError, optional_object
from agentgym_server.dialects.tool_arguments import misfits
from agentgym_server.service import Service
from agentgym_server.sessions.session import JsonAction, Session
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import clipped
from agentgym_server.wire.requests import MAX_ERRORS, invalid

TURN = "agentevol/turn"
"""Key of `_meta`: in a call, the intended turn; in a result, the turn that was played."""
STATE = "agentevol/state"
TOOLS_CHANGED = "agentevol/tools_changed"
"""Key of `_meta` of a result: true where the turn changed the tools, so that `tools/list` has others now."""
REWARD = "agentevol/reward"
TOTAL_REWARD = "agentevol/total_reward"

ACT: Json = {
    "name": "act",
    "description": "Carry out one action, as text, and read what it leads to. Every call takes one turn.",
    "inputSchema": {
        "type": "object",
        "properties": {"action": {"type": "string", "description": "The action, for example: look"}},
        "required": ["action"],
        "additionalProperties": False,
    },
}
LOOK: Json = {
    "name": "look",
    "description": "Read the latest observation again, with the admissible actions. Takes no turn.",
    "inputSchema": {"type": "object", "properties": {}, "additionalProperties": False},
    "annotations": {"readOnlyHint": True},
}
SAY: Json = {
    "name": "say",
    "description": "Say something, without another call, and read the answer. Every call takes one turn.",
    "inputSchema": {
        "type": "object",
        "properties": {"message": {"type": "string", "description": "What you say."}},
        "required": ["message"],
        "additionalProperties": False,
    },
}
MESSAGES = {"act": "action", "say": "message"}
"""Tools of this dialect that play a turn, and the argument that is its action."""


def tools_of(service: Service, session: Session) -> list[Json]:
    """The tools in MCP's format."""
    reads_only = service.catalogue.of(session.origin.env).environment.read_only_tools
    functions = [tool["function"] for tool in session.tools or ()]
    listed = [mcp_tool(function, reads_only.get(function["name"])) for function in functions]
    return [*listed, *_own_tools(service, session)]


def _own_tools(service: Service, session: Session) -> list[Json]:
    """The tools of this dialect that a session has."""
    if session.tools is None:
        return [ACT, LOOK]
    taken = any(tool["function"]["name"] == SAY["name"] for tool in session.tools)
    return [SAY] if service.catalogue.of(session.origin.env).environment.speaks and not taken else []


def _schema(session: Session, own: Sequence[Json], name: str) -> Json | None:
    """The schema of a tool's arguments; None for an unknown tool."""
    functions = (tool["function"] for tool in session.tools or ())
    listed = [*own, *(mcp_tool(one) for one in functions if one["name"] == name)]
    return next((tool["inputSchema"] for tool in listed if tool["name"] == name), None)


async def call_tool(service: Service, session: Session, message: Message) -> Json:
    """Play one turn; `look` returns the last observation. Raises `RpcError`, and the problems of steps."""
    name = message.params.get("name")
    arguments = optional_object(message.params.get("arguments"), "arguments")
    if not isinstance(name, str):
        raise RpcError(INVALID_PARAMS, "name must be a string")
    own = _own_tools(service, session)
    ours = any(tool["name"] == name for tool in own)
    if ours or not _is_repeat(session, message):  # the tools may have changed since the first time
        _check_call(service, session, own, name, arguments)
    if ours and name == "look":
        return _look(service, session)
    call: Json = {"type": "tool_call", "name": name, "arguments": arguments}
    reply = await _played(service, session, message, arguments[MESSAGES[name]] if ours else call)
    return _turn_result(reply, ours, service.settings.mcp_expose_reward)


def _is_repeat(session: Session, message: Message) -> bool:
    """True if the call names a turn that was played: it is then subject to the turn rules only."""
    turn = message.meta.get(TURN)
    return type(turn) is int and 0 < turn <= session.turn


def _check_call(service: Service, session: Session, own: Sequence[Json], name: str, arguments: Json) -> None:
    """Raise `RpcError` for an unknown tool, and the problem `validation` for arguments that violate its
    schema.
    """
    schema = _schema(session, own, name)
    if schema is None:
        if session.state != "open":
            return  # an ended episode has no tools, and the caller is told that it ended
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {clipped(name)}")
    wrong = list(itertools.islice(misfits(schema, arguments), MAX_ERRORS))
    limit = service.settings.max_action_chars
    if len(strict_json.dump(arguments)) > limit and session.tools is not None:  # a step checks text itself
        wrong.append(("", f"must have at most {limit} characters"))
    if wrong:
        raise invalid(*wrong)


async def _played(service: Service, session: Session, message: Message, action: JsonAction) -> Json:
    """The reply of a step: of the turn that the caller names, else of the next one."""
    if TURN not in message.meta:
        return json.loads((await service.episodes.act(session.id, action)).body)
    step = service.episodes.step(session.id, {"turn": message.meta[TURN], "action": action})
    return json.loads((await step if inspect.isawaitable(step) else step).body)


def _turn_result(reply: Json, acts: bool, expose_reward: bool) -> Json:
    text: str = reply["observation"]
    structured = {"result": text} if acts else _structured(text)
    failed = reply["info"].get("invalid_action") is True or (not acts and _is_error(structured))
    rewards = {REWARD: reply["reward"], TOTAL_REWARD: reply["total_reward"]} if expose_reward else {}
    changed = {TOOLS_CHANGED: True} if "tools" in reply["info"] and reply["state"] == "open" else {}
    return _result(text, structured, failed) | {
        "_meta": {TURN: reply["turn"], STATE: reply["state"], **changed, **rewards}
    }


def _look(service: Service, session: Session) -> Json:
    service.episodes.lease(session.id, None)  # raises where the session is gone
    text = session.observation
    structured: Json = {"result": text}
    actions: Sequence[str] | None = session.info.get("available_actions")
    if actions is not None:
        text += "\n\nAdmissible actions:\n" + "\n".join(actions)
        structured["available_actions"] = list(actions)
    return _result(text, structured, False) | {"_meta": {TURN: session.turn, STATE: session.state}}


def _result(text: str, structured: Json, failed: bool) -> Json:
    return {
        "content": [{"type": "text", "text": text}],
        "structuredContent": structured,
        "isError": failed,
    }


def _structured(text: str) -> Json:
    """The result of a tool as an object; any other value is wrapped under `result`."""
    try:
        value: Any = strict_json.parse_text(text)
    except strict_json.InvalidJson:
        return {"result": text}
    return cast("Json", value) if isinstance(value, dict) else {"result": value}


def _is_error(structured: Json) -> bool:
    """True if a tool returned only an error object, as the environments with tools do."""
    return list(structured) == ["error"] and isinstance(structured["error"], dict)
