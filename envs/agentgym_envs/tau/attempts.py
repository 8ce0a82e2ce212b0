"""Attempt of a tool call: all of it, or nothing.

A tool of a help desk may meet rows and arguments that its author did not think of. Whatever it raises is an
answer for the agent, and the state stays as it was: an agent cannot break its episode.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from agentgym_envs.tau.world import World
from agentgym_envs.tooluse import CallError, Tool, ToolError

WorldT = TypeVar("WorldT", bound=World)

UNFORESEEN = (
    *(ArithmeticError, AttributeError, LookupError, RuntimeError, StopIteration, TypeError, ValueError),
)
"""Exceptions of a tool that does not check its arguments well enough."""

_log = logging.getLogger(__name__)


def attempted(
    world: WorldT, tool: Tool, arguments: Mapping[str, Any], follow: Callable[[WorldT], None]
) -> object:
    """The result of a tool, after `follow` on the state. Raises `CallError`, with the state as before."""
    before = world.copy()
    try:
        value = tool.run(world, **arguments)
        follow(world)
    except CallError:
        world.take_back(before)
        raise
    except UNFORESEEN as cause:
        world.take_back(before)
        _log.warning("the tool %s raised %s", tool.name, type(cause).__name__, exc_info=True)
        raise ToolError(f"{tool.name} cannot be executed with these arguments") from cause
    return value
