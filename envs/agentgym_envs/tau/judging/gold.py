"""Gold state of a task: its gold actions, replayed on a fresh state, and the changes that they leave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from agentgym_envs.tau.tasks import Action, TauTask
from agentgym_envs.tau.world import Changes, World
from agentgym_envs.tooluse import CallError, Tool


@dataclass(frozen=True)
class Gold:
    """Changes that the gold actions leave."""

    changes: Changes
    user: object
    """The customer's side, as `World.user_changes` tells it."""
    failed: tuple[str, ...]
    """Names of writing actions that their tools refused; they stay without effect, as in the benchmark."""
    has_seeded_ids: bool
    """True if new rows have ids that depend on the episode's seed."""


def replayed(
    task: TauTask,
    world: World,
    tools: Mapping[str, Tool],
    execute: Callable[[World, Tool, Mapping[str, Any]], object],
) -> Gold:
    """Play a task's gold actions on its fresh state."""
    failed = list[str]()
    for action in task.gold:
        tool = tools.get(action.name)
        try:
            if tool is None:
                raise CallError("unknown_tool", f"there is no tool {action.name!r}")
            execute(world, tool, checked(tool, action))
        except CallError:
            if tool is None or tool.kind == "write":
                failed.append(action.name)
    return Gold(world.changes(), world.user_changes(), tuple(failed), world.has_seeded_ids)


def checked(tool: Tool, action: Action) -> dict[str, Any]:
    """The arguments of a gold action; raises `CallError` for those that a call could not have."""
    return cast("dict[str, Any]", tool.check(dict(action.arguments), ""))
