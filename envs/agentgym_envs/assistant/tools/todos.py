"""Tools for projects and to-dos."""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.calendar import Date
from agentgym_envs.assistant.tools.pages import (
    Id,
    Limit,
    Name,
    Page,
    Search,
    Selection,
    Text,
    check_date,
    existing,
    page,
    update,
)
from agentgym_envs.tooluse import ToolError, tool

Priority = Annotated[int, Field(ge=1, le=4)]
Minutes = Annotated[int, Field(ge=1, le=6000)]
COLUMNS = "id, project_id, title, due, priority, duration_min, done, assignee"
ORDERS = {"id": "id", "due": "due IS NULL, due, id", "priority": "priority DESC, id"}


class TodoFields(TypedDict, total=False):
    """Fields of a to-do that can be changed."""

    project_id: Id
    title: Name
    description: Text
    due: str
    priority: Priority
    duration_min: Minutes
    assignee: Id


@tool("read")
def list_projects(session: Session, limit: Limit = 10, cursor: str | None = None) -> Page:
    """List the projects.

    Args:
        limit: Items of a page.
        cursor: Next page.
    """
    return page(session, Selection("project", "id, name, is_favorite"), limit, cursor)


@tool("write")
def update_project(session: Session, project_id: Id, is_favorite: bool) -> dict[str, Any]:
    """Mark a project as a favorite or not.

    Args:
        project_id: Id of the project.
        is_favorite: True for a favorite.
    """
    existing(session, "project", project_id, "project_id")
    update(session, "project", project_id, {"is_favorite": int(is_favorite)})
    return existing(session, "project", project_id, "project_id")


@tool("read")
def list_todos(
    session: Session,
    query: Name | None = None,
    project_id: Id | None = None,
    done: bool | None = None,
    assignee: Id | None = None,
    due_before: Date | None = None,
    due_after: Date | None = None,
    priority: Priority | None = None,
    sort: Literal["id", "due", "priority"] = "id",
    limit: Limit = 10,
    cursor: str | None = None,
) -> Page:
    """List to-dos.

    Args:
        query: Part of the title.
        project_id: Project.
        done: True for finished ones.
        assignee: Contact who does it.
        due_before: Due before this day.
        due_after: Due after this day.
        priority: Priority, 4 is the highest.
        sort: Order; ties by id.
        limit: Items of a page.
        cursor: Next page.
    """
    check_date(due_before, "due_before")
    check_date(due_after, "due_after")
    filters = [
        Search(("title",), query),
        ("project_id = ?", project_id),
        ("done = ?", None if done is None else int(done)),
        ("assignee = ?", assignee),
        ("due < ?", due_before),
        ("due > ?", due_after),
        ("priority = ?", priority),
    ]
    return page(session, Selection("todo", COLUMNS, filters, ORDERS[sort]), limit, cursor)


@tool("read")
def get_todo(session: Session, todo_id: Id) -> dict[str, Any]:
    """Get a to-do with description and duration.

    Args:
        todo_id: Id of the to-do.
    """
    session.saw("todo", [todo_id])
    return existing(session, "todo", todo_id, "todo_id")


@tool("write")
def create_todo(
    session: Session,
    project_id: Id,
    title: Name,
    due: Date | None = None,
    priority: Priority = 1,
    description: Text | None = None,
    duration_min: Minutes | None = None,
    assignee: Id | None = None,
) -> dict[str, int]:
    """Create a to-do.

    Args:
        project_id: Project.
        title: Title.
        due: Day.
        priority: Priority, 4 is the highest.
        description: Details.
        duration_min: Minutes.
        assignee: Contact who does it.
    """
    existing(session, "project", project_id, "project_id")
    _check(session, due, assignee)
    todo_id = session.office.write(
        "INSERT INTO todo(project_id, title, description, due, priority, duration_min, assignee) "
        "VALUES (?, ?, ?, ?, ?, ?, ?)",
        project_id,
        title,
        description,
        due,
        priority,
        duration_min,
        assignee,
    )
    return {"todo_id": todo_id}


@tool("write")
def update_todo(session: Session, todo_id: Id, fields: TodoFields) -> dict[str, Any]:
    """Change fields of a to-do.

    Args:
        todo_id: Id of the to-do.
        fields: New values.
    """
    existing(session, "todo", todo_id, "todo_id")
    _check(session, fields.get("due"), fields.get("assignee"))
    if "project_id" in fields:
        existing(session, "project", fields["project_id"], "project_id")
    update(session, "todo", todo_id, dict(fields))
    return existing(session, "todo", todo_id, "todo_id")


@tool("write")
def complete_todo(session: Session, todo_id: Id) -> dict[str, int]:
    """Finish a to-do.

    Args:
        todo_id: Id of the to-do.
    """
    if existing(session, "todo", todo_id, "todo_id")["done"]:
        raise ToolError(f"already_done: to-do {todo_id}", argument="todo_id")
    update(session, "todo", todo_id, {"done": 1})
    return {"completed": todo_id}


@tool("write")
def delete_todo(session: Session, todo_id: Id) -> dict[str, int]:
    """Delete a to-do.

    Args:
        todo_id: Id of the to-do.
    """
    existing(session, "todo", todo_id, "todo_id")
    session.office.write("DELETE FROM todo WHERE id = ?", todo_id)
    return {"deleted": todo_id}


def _check(session: Session, due: str | None, assignee: int | None) -> None:
    check_date(due, "due")
    if assignee is not None:
        existing(session, "contact", assignee, "contact_id")


TOOLS = (
    list_projects,
    update_project,
    list_todos,
    get_todo,
    create_todo,
    update_todo,
    complete_todo,
    delete_todo,
)
