"""Projects and tasks of goals: how they are drawn, and how tools find them."""

from typing import Any

from agentgym_envs.families.drafts import Ask, only
from agentgym_envs.families.todo.lists import TodoState
from agentgym_envs.knowledge.rows import Draw
from agentgym_envs.tooluse.tables import Row


def a_project(scene: TodoState, draw: Draw) -> Row:
    """Any project."""
    return draw.pick(list(scene.projects.values()))


def tasks_of(scene: TodoState, project: Row) -> list[Row]:
    """The tasks of a project."""
    return [row for row in scene.tasks.values() if row["project_id"] == project["id"]]


def a_task(scene: TodoState, draw: Draw, is_open: bool = False) -> tuple[Row, Row]:
    """A project, and a task of it."""
    project = a_project(scene, draw)
    rows = [row for row in tasks_of(scene, project) if not (is_open and row["is_completed"])]
    only(bool(rows))
    return project, draw.pick(rows)


def find_project(ask: Ask, name: str) -> str:
    """The identifier of a project."""
    found = [one["id"] for one in ask("get_projects") if one["name"] == name]
    only(len(found) == 1)
    return found[0]


def find_tasks(ask: Ask, project: str) -> list[dict[str, Any]]:
    """The tasks of a project that is named."""
    return ask("get_tasks", project_id=find_project(ask, project))


def find_task(ask: Ask, project: str, content: str) -> dict[str, Any]:
    """A task that is named."""
    found = [one for one in find_tasks(ask, project) if one["content"] == content]
    only(len(found) == 1)
    return found[0]


def minutes(ask: Ask, task: dict[str, Any]) -> int:
    """The duration of a task."""
    return int(ask("get_task_duration", task_id=task["id"])["duration"].partition("(")[0])


def still_open(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tasks that are not completed."""
    return [task for task in tasks if not task["is_completed"]]
