"""AgentBench (arXiv:2308.03688): tools that act, and messages that tell what they did."""

from collections.abc import Mapping
from typing import Any

from agentgym_envs.webshop.dialects import Available

ROUNDS = 20
"""Of an episode; without a purchase in them it scores 0."""
NO_CALL = "Observation:\nNo executable tool calls found! You should call a tool instead."
"""What a reply without a tool is told."""
_ARGUMENTS = {"search_action": ("search", "keywords"), "click_action": ("click", "value")}
"""Tool -> the action's name, and what its one argument is called."""


def first_message(observation: str, available: Available) -> str:
    """The user's, at the beginning."""
    return f"The initial observation:\n{observation}\n\n{_told(available)}"


def tool_message(action: str, observation: str, available: Available) -> str:
    """A tool's, after an action."""
    return f"Action: {action}\n\nObservation:\n{observation}\n\n{_told(available)}"


def action(tool: str, arguments: Mapping[str, Any]) -> str | None:
    """What a call asks for; None for a tool or arguments that are not there.

    >>> action("search_action", {"keywords": "red shoes"}), action("buy", {})
    ('search[red shoes]', None)
    """
    if tool not in _ARGUMENTS or len(arguments) != 1:
        return None
    name, argument = _ARGUMENTS[tool]
    value = arguments.get(argument)
    return f"{name}[{value}]" if isinstance(value, str) else None


def tools() -> list[dict[str, Any]]:
    """Both, as chat templates take them."""
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
