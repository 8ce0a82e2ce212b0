"""Tools of `todo`. Messages are AgentGym's own."""

from datetime import date
from typing import Annotated, Any

from pydantic import Field

from agentgym_envs.families.states import check_valid_actions, finish
from agentgym_envs.families.todo.lists import TODAY, TodoState
from agentgym_envs.tooluse import ToolError, Toolset, tool

Id = Annotated[str, Field(max_length=20)] | int
SHOWN = ("id", "order", "content", "is_completed", "priority", "due_date")


@tool("read")
def get_user_current_date(state: TodoState) -> str:  # noqa: ARG001 - the signature of a tool
    """Get the current date."""
    return str(TODAY)


@tool("read")
def get_user_current_location(state: TodoState) -> str:
    """Get the city in which the user is."""
    return state.city


@tool("read")
def get_projects(state: TodoState) -> list[dict[str, Any]]:
    """List all projects."""
    state.seen.update([f"project/{project}" for project in state.projects])
    return [dict(row) for row in state.projects.values()]


@tool("write")
def update_project(state: TodoState, project_id: Id, is_favorite: bool) -> str:
    """Make a project a favorite, or none.

    Args:
        project_id: Identifier of the project.
        is_favorite: True for a favorite.
    """
    key = _project(state, project_id)
    if state.projects[key]["is_favorite"] != is_favorite:
        state.projects.edit(key)["is_favorite"] = is_favorite
    return "Update the project successfully"


@tool("read")
def get_tasks(state: TodoState, project_id: Id) -> list[dict[str, Any]]:
    """List the tasks of a project, completed ones too.

    Args:
        project_id: Identifier of the project.
    """
    project = _project(state, project_id)
    rows = [row for row in state.tasks.values() if row["project_id"] == project]
    state.seen.update([f"task/{row['id']}" for row in rows])
    return [{name: row[name] for name in SHOWN} for row in rows]


@tool("read")
def get_task_description(state: TodoState, task_id: Id) -> dict[str, Any]:
    """Get the description of a task.

    Args:
        task_id: Identifier of the task.
    """
    row = state.tasks[_task(state, task_id)]
    state.seen.add(f"description/{row['id']}")
    return {name: row[name] for name in ("id", "content", "description")}


@tool("read")
def get_task_duration(state: TodoState, task_id: Id) -> dict[str, Any]:
    """Get the duration of a task.

    Args:
        task_id: Identifier of the task.
    """
    row = state.tasks[_task(state, task_id)]
    state.seen.add(f"duration/{row['id']}")
    return {"id": row["id"], "content": row["content"], "duration": f"{row['duration']}(minute)"}


@tool("write")
def complete_task(state: TodoState, task_id: Id) -> str:
    """Mark a task as completed.

    Args:
        task_id: Identifier of the task.
    """
    key = _task(state, task_id)
    if not state.tasks[key]["is_completed"]:
        state.tasks.edit(key)["is_completed"] = True
    return "Complete task successfully."


@tool("write")
def update_task(state: TodoState, task_id: Id, due_date: Annotated[str, Field(max_length=40)]) -> str:
    """Change the due date of a task.

    Args:
        task_id: Identifier of the task.
        due_date: The new date, YYYY-MM-DD.
    """
    key = _task(state, task_id)
    try:
        day = str(date.fromisoformat(due_date))
    except ValueError:
        raise ToolError("Error: due_date should be a date, YYYY-MM-DD", argument="due_date") from None
    if state.tasks[key]["due_date"] != day:
        state.tasks.edit(key)["due_date"] = day
    return "Update the task successfully"


@tool("write")
def delete_task(state: TodoState, task_id: Id) -> str:
    """Delete a task.

    Args:
        task_id: Identifier of the task.
    """
    state.tasks.remove(_task(state, task_id))
    return "Delete task successfully."


def _task(state: TodoState, task_id: str | int) -> str:
    key = str(task_id).strip()
    if key not in state.tasks:
        raise ToolError(f"Task {key[:40]} is not exists.", argument="task_id")
    return key


def _project(state: TodoState, project_id: str | int) -> str:
    key = str(project_id).strip()
    if key not in state.projects:
        raise ToolError(f"Project {key[:40]} is not exists.", argument="project_id")
    return key


TOOLS = Toolset(
    [
        get_user_current_date,
        get_user_current_location,
        get_projects,
        update_project,
        get_tasks,
        get_task_description,
        get_task_duration,
        complete_task,
        update_task,
        delete_task,
        check_valid_actions,
        finish,
    ]
)
