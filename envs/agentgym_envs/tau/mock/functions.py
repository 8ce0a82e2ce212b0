"""Functions that tasks of the mock domain name: set-up calls and assertions; the agent cannot call them."""

from collections.abc import Callable, Mapping
from typing import Any

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.mock.tools import AGENT_TOOLS, INBOX_TOOLS, put
from agentgym_envs.tau.reading import TauDataError
from agentgym_envs.tau.tasks import UPDATE, Invocation, Side
from agentgym_envs.tooluse import CallError
from agentgym_envs.tooluse.tables import Row, copied


def invoke(world: DeskWorld, invocation: Invocation) -> object:
    """The result of a function; raises `TauDataError` for an unknown one, and for one that fails."""
    function = FUNCTIONS[invocation.side].get(invocation.function)
    if function is None:
        raise TauDataError(f"mock has no function {invocation.function!r}")
    try:
        return function(world, **invocation.arguments)
    except (CallError, TypeError, KeyError, AttributeError) as cause:
        raise TauDataError(f"the function {invocation.function} fails: {cause}") from cause


def update_db(world: DeskWorld, **tables: Mapping[str, Row]) -> None:
    """Add rows to tables, or their fields to the rows that are there."""
    for name, rows in tables.items():
        for key, row in rows.items():
            put(world, name, key, {**world.tables[name].get(key, {}), **copied(row)})


def add_notification(
    world: DeskWorld, notification_id: str, message: str, task_id: str | None = None
) -> None:
    """Put an unread notification into the inbox."""
    row = {
        "notification_id": notification_id,
        "message": message,
        "status": "unread",
        "task_id": task_id,
    }
    put(world, "notifications", notification_id, row)


def assert_number_of_tasks(world: DeskWorld, user_id: str, expected_number: int) -> bool:
    """True if a user has this many tasks."""
    user = world.tables["users"].get(user_id)
    return user is not None and len(user["tasks"]) == expected_number


def assert_task_status(world: DeskWorld, task_id: str, expected_status: str) -> bool:
    """True if there is a task with this id and status."""
    return world.tables["tasks"].get(task_id, {}).get("status") == expected_status


def assert_notification_status(world: DeskWorld, notification_id: str, expected_status: str) -> bool:
    """True if there is a notification with this id and status."""
    return world.tables["notifications"].get(notification_id, {}).get("status") == expected_status


FUNCTIONS: Mapping[Side, Mapping[str, Callable[..., Any]]] = {
    "assistant": {
        **{name: tool.run for name, tool in AGENT_TOOLS.items()},
        UPDATE: update_db,
        "assert_number_of_tasks": assert_number_of_tasks,
        "assert_task_status": assert_task_status,
    },
    "user": {
        **{name: tool.run for name, tool in INBOX_TOOLS.items()},
        UPDATE: update_db,
        "add_notification": add_notification,
        "assert_notification_status": assert_notification_status,
    },
}
"""Functions of each side by name; its tools can be used too."""
