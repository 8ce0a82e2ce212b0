"""Tools of the mock domain: 4 of the agent, and 2 of the user's inbox."""

from typing import Any, Literal

from agentgym_envs.tau.desk import DeskWorld
from agentgym_envs.tau.desk.tools import transfer_to_human_agents
from agentgym_envs.tooluse import Toolset, tool
from agentgym_envs.tooluse.tables import Row

Status = Literal["pending", "completed"]


@tool("write")
def create_task(world: DeskWorld, user_id: str, title: str, description: str | None = None) -> dict[str, Any]:
    """Create a pending task for a user.

    Args:
        user_id: Id of the user.
        title: Title of the task.
        description: Description of the task, if there is one.
    """
    world.row("users", user_id, f"user {user_id[:80]}")
    task_id = f"task_{len(world.tables['tasks']) + 1}"
    row = {"task_id": task_id, "title": title, "description": description, "status": "pending"}
    put(world, "tasks", task_id, row)
    world.tables["users"].edit(user_id)["tasks"].append(task_id)
    return row


@tool("read")
def get_users(world: DeskWorld) -> list[dict[str, Any]]:
    """List all users, with the ids of their tasks."""
    return list(world.tables["users"].values())


@tool("write")
def update_task_status(world: DeskWorld, task_id: str, status: Status) -> dict[str, Any]:
    """Set the status of a task.

    Args:
        task_id: Id of the task.
        status: The new status.
    """
    world.row("tasks", task_id, f"task {task_id[:80]}")
    task = world.tables["tasks"].edit(task_id)
    task["status"] = status
    return task


@tool("read")
def check_notifications(world: DeskWorld) -> list[dict[str, Any]]:
    """List all notifications in the user's inbox."""
    return list(world.tables["notifications"].values())


@tool("write")
def dismiss_notification(world: DeskWorld, notification_id: str) -> str:
    """Mark a notification in the user's inbox as read.

    Args:
        notification_id: Id of the notification.
    """
    world.row("notifications", notification_id, f"notification {notification_id[:80]}")
    world.tables["notifications"].edit(notification_id)["status"] = "read"
    return f"Notification {notification_id} dismissed"


def put(world: DeskWorld, table: str, key: str, row: Row) -> None:
    """Add a row, in place of another one with this key."""
    rows = world.tables[table]
    if key in rows:
        rows.remove(key)
    rows.add(key, row)


AGENT_TOOLS = Toolset([create_task, get_users, update_task_status, transfer_to_human_agents])
INBOX_TOOLS = Toolset([check_notifications, dismiss_notification])
