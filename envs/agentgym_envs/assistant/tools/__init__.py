"""Tools of the assistant, by application.

Names for other packages: `TOOLSET`, `APPLICATIONS`, `offered`.
"""

from functools import cached_property
from typing import Any

from agentgym_envs.assistant.read_only import read_only
from agentgym_envs.assistant.tools import (
    calendar,
    contacts,
    files,
    general,
    knowledge,
    mail,
    orders,
    sheets,
    todos,
)
from agentgym_envs.tooluse import Tool, Toolset

__all__ = ["APPLICATIONS", "TOOLSET", "offered"]

APPLICATIONS: dict[str, tuple[Tool, ...]] = {
    "general": general.TOOLS,
    "contacts": contacts.TOOLS,
    "calendar": calendar.TOOLS,
    "mail": mail.TOOLS,
    "todos": todos.TOOLS,
    "files": files.TOOLS,
    "orders": orders.TOOLS,
    "sheets": sheets.TOOLS,
    "weather": knowledge.WEATHER,
    "movies": knowledge.MOVIES,
    "papers": knowledge.PAPERS,
}
"""Application to its tools."""


class SharedToolset(Toolset):
    """Tools whose schemas all episodes share."""

    @cached_property
    def functions(self) -> tuple[dict[str, Any], ...]:
        return tuple(map(read_only, super().functions))


TOOLSET = SharedToolset(tool for tools in APPLICATIONS.values() for tool in tools)
"""All tools."""


def offered(*applications: str) -> Toolset:
    """The general tools, and those of the applications."""
    return SharedToolset(tool for name in ("general", *applications) for tool in APPLICATIONS[name])
