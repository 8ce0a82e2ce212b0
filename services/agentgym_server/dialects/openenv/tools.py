"""Tools of an environment: their lists, and tool calls as turns of the episode."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from agentgym_server.dialects.openenv import views
from agentgym_server.dialects.openenv.models import CallTool, ListTools
from agentgym_server.dialects.openenv.sessions import OpenEnvSession
from agentgym_server.dialects.tool_arguments import misfits
from agentgym_server.wire import strict_json
from agentgym_server.wire.problems import clipped
from agentgym_server.wire.reply import Reply

RESERVED = frozenset({"reset", "step", "state", "close"})
"""Names that a tool cannot have in this dialect."""


class ToolCard(NamedTuple):
    """Tool description."""

    name: str
    description: str
    schema: dict[str, Any]


def offered(env_session: OpenEnvSession) -> bool:
    """True if tool actions are supported."""
    declared = env_session.service.catalogue.schema(env_session.env)["tools"]
    return (declared if env_session.session is None else env_session.session.tools) is not None


def tools_of(env_session: OpenEnvSession) -> list[ToolCard] | None:
    """The tools that can be called now, None where the environment has none.

    Tools of the environment itself need no episode. Raises `Refusal` before a reset, and the problem of a
    session that is gone.
    """
    env_session.state()
    declared: Iterable[Mapping[str, Any]] | None = env_session.service.catalogue.schema(env_session.env)[
        "tools"
    ]
    if env_session.session is not None or declared is None:
        declared = env_session.playing().tools
    return None if declared is None else [card for card in map(_card, declared) if card.name not in RESERVED]


def mistake(card: ToolCard, arguments: dict[str, Any], max_chars: int) -> str | None:
    """Short description of the error in the arguments of a call."""
    if len(strict_json.dump(arguments)) > max_chars:
        return f"arguments must have at most {max_chars} characters"
    path, text = next(misfits(card.schema, arguments), (None, ""))
    return None if path is None else clipped(f"{path or '/'} {text}")


def _card(tool: Mapping[str, Any]) -> ToolCard:
    function: Mapping[str, Any] = tool.get("function", tool)
    return ToolCard(function["name"], function.get("description", ""), function.get("parameters", {}))


async def act(
    env_session: OpenEnvSession, action: CallTool | ListTools, deadline_s: float | None = None
) -> dict[str, Any]:
    """The reply to a tool action; neither a list nor a call that cannot be made takes a turn."""
    cards = {card.name: card for card in tools_of(env_session) or ()}
    if isinstance(action, ListTools):
        tools = [
            {"name": name, "description": text, "input_schema": schema}
            for name, text, schema in cards.values()
        ]
        return _unplayed(env_session, {"tools": tools})
    name = clipped(action.tool_name)
    card = cards.get(action.tool_name)
    if card is None:
        return _unplayed(env_session, _no_result(name, "tool_not_found", f"Tool not found: {name}"))
    wrong = mistake(card, action.arguments, env_session.service.settings.max_action_chars)
    if wrong is not None:
        return _unplayed(env_session, _no_result(name, "invalid_args", wrong))
    reply = await call(env_session, name, action.arguments, deadline_s)
    return views.seen(reply, _observation(name, reply), reply["reward"])


async def call(
    env_session: OpenEnvSession, name: str, arguments: dict[str, Any], deadline_s: float | None = None
) -> dict[str, Any]:
    """Call a tool as the next turn; returns the server's own reply."""
    answer = env_session.step({"type": "tool_call", "name": name, "arguments": arguments}, deadline_s)
    reply = answer if isinstance(answer, Reply) else await answer
    return views.read(reply)


def result(reply: Mapping[str, Any]) -> Any:
    """The result of a tool: the value of its JSON, or its text."""
    try:
        return strict_json.parse_text(reply["observation"])
    except strict_json.InvalidJson:
        return reply["observation"]


def failed(reply: Mapping[str, Any]) -> bool:
    """True if the environment refused the call."""
    return bool(reply["info"].get("invalid_action"))


def _observation(name: str, reply: Mapping[str, Any]) -> dict[str, Any]:
    told = {"tool_name": name, "result": result(reply), "error": None}
    if failed(reply):
        told = _no_result(name, "invalid_args", reply["observation"])
    return told | {"metadata": views.metadata_of(reply)}


def _no_result(name: str, kind: str, message: str) -> dict[str, Any]:
    return {"tool_name": name, "result": None, "error": {"error_type": kind, "message": message}}


def _unplayed(env_session: OpenEnvSession, observation: dict[str, Any]) -> dict[str, Any]:
    state = env_session.state() | {
        "session_id": "" if env_session.session is None else env_session.session.id
    }
    return views.seen(state, observation | {"metadata": views.metadata_of(state)}, 0.0)
