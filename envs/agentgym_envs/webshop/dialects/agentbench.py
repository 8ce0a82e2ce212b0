"""AgentBench (arXiv:2308.03688): tools for actions, and messages with their results."""

from collections.abc import Mapping
from typing import Any

from agentgym_envs.webshop.dialects import Available

ROUNDS = 20
"""Maximum number of rounds of an episode; without a purchase in them it scores 0."""
NO_CALL = "Observation:\nNo executable tool calls found! You should call a tool instead."
"""Message after a reply without a tool call."""
_ARGUMENTS = {"search_action": ("search", "keywords"), "click_action": ("click", "value")}
"""Tool -> action name, and name of its single argument."""


def first_message(observation: str, available: Available) -> str:
    """The first user message."""
    return f"The initial observation:\n{observation}\n\n{_told(available)}"


def tool_message(action: str, observation: str, available: Available) -> str:
    """The tool message after an action."""
    return f"Action: {action}\n\nObservation:\n{observation}\n\n{_told(available)}"


def action(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """The action of a tool call; None for an unknown tool or unknown arguments.

    >>> action("search_action", {"keywords": "red shoes"}), action("buy", {})
    ('search[red shoes]', None)
    """
    if tool not in _ARGUMENTS or len(arguments) != 1:
        return None
    name, argument = _ARGUMENTS[tool]
    value = arguments.get(argument)
    return f"{name}[{value}]" if isinstance(value, str) else None


def tools() -> list[dict[str, Any]]:
    """Both tools, in the form for chat templates."""
    return [
        _tool("search_action", "Search the shop.", "keywords", "What to search for."),
        _tool("click_action", "Click on a button.", "value", "One of the clickables, as it is listed."),
    ]


def _tool(name: str, what: str, argument: str, meaning: str) -> dict[str, Any]:
    properties = {argument: {"type": "string", "description": meaning}}
    parameters = {"type": "object", "properties": properties, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": what, "parameters": parameters}}


def _told(available: Available) -> str:
    listed = {"has_search_bar": available["has_search_bar"], "clickables": list(available["clickables"])}
    return f"Available Actions:\n{listed}"
