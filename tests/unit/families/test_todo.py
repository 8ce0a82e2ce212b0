"""Tools of `todo`."""

import json
from typing import Any

import pytest

from agentgym_envs.families.todo import Todo


@pytest.fixture
def environment() -> Todo:
    made = Todo()
    made.reset(made.task("0"), 0)
    return made


def ask(environment: Todo, tool: str, **arguments: object) -> Any:
    return json.loads(environment.step(json.dumps({"name": tool, "arguments": arguments})).observation.text)


def test_projects_and_tasks_have_agentgyms_members(environment: Todo):
    projects = ask(environment, "get_projects")
    assert len(projects) == 5
    assert set(projects[0]) == {"id", "order", "color", "name", "is_favorite"}
    tasks = ask(environment, "get_tasks", project_id=projects[0]["id"])
    assert set(tasks[0]) == {"id", "order", "content", "is_completed", "priority", "due_date"}
    key = tasks[0]["id"]
    assert set(ask(environment, "get_task_description", task_id=key)) == {"id", "content", "description"}
    duration = environment.state.tasks[key]["duration"]
    assert ask(environment, "get_task_duration", task_id=int(key)) == {
        "id": key,
        "content": tasks[0]["content"],
        "duration": f"{duration}(minute)",
    }
    assert ask(environment, "get_user_current_date") == "2026-03-02"
    assert ask(environment, "get_user_current_location").istitle()


def test_writes_and_their_messages(environment: Todo):
    open_key, other = [key for key, row in environment.state.tasks.items() if not row["is_completed"]][:2]
    assert ask(environment, "complete_task", task_id=open_key) == "Complete task successfully."
    assert ask(environment, "complete_task", task_id=open_key) == "Complete task successfully."
    assert (
        ask(environment, "update_task", task_id=other, due_date="2026-04-01")
        == "Update the task successfully"
    )
    change = environment.net_change()
    assert isinstance(change, dict)
    assert set(change["tasks"]) == {open_key, other}
    assert change["tasks"][other]["due_date"] == "2026-04-01"
    ask(environment, "delete_task", task_id=other)
    assert (
        ask(environment, "delete_task", task_id=other)["error"]["message"] == f"Task {other} is not exists."
    )
    assert environment.net_change()["tasks"][other] is None  # type: ignore[index] - a change


@pytest.mark.parametrize("given", [True, "True", "true", "False", False])
def test_a_favorite_is_given_as_a_text_or_a_boolean(environment: Todo, given: object):
    key = next(iter(environment.state.projects))
    ask(environment, "update_project", project_id=key, is_favorite=given)
    assert environment.state.projects[key]["is_favorite"] is (str(given).lower() == "true")


def test_a_change_that_is_undone_is_none(environment: Todo):
    key, row = next((key, row) for key, row in environment.state.tasks.items() if row["due_date"])
    before = row["due_date"]
    ask(environment, "update_task", task_id=key, due_date="2027-01-01")
    assert environment.net_change() is not None
    ask(environment, "update_task", task_id=key, due_date=before)
    assert environment.net_change() is None


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("complete_task", {"task_id": "1"}, "Task 1 is not exists."),
        ("get_task_duration", {"task_id": ""}, "Task  is not exists."),
        ("get_tasks", {"project_id": "x"}, "Project x is not exists."),
        ("update_task", {"task_id": "71000", "due_date": "tomorrow"}, ""),
    ],
)
def test_what_is_refused_changes_nothing(
    environment: Todo, tool: str, arguments: dict[str, Any], message: str
):
    assert message in ask(environment, tool, **arguments)["error"]["message"]
    assert environment.net_change() is None


def test_identifiers_are_the_same_in_all_lists_so_that_a_learnt_write_has_an_effect():
    environment = Todo()
    keys = list[set[str]]()
    for number in range(6):
        environment.reset(environment.task(str(number)), 0)
        keys.append(set(environment.state.tasks))
    assert all(len(keys[0] & other) > 10 for other in keys[1:])


def wanted_changes(task: Any) -> dict[str, Any]:
    """The changes that a goal asks for, from its words and the lists, without tools."""
    from agentgym_envs.families.todo.lists import lists

    own = lists(task.split, task.setting["world"])
    project = next(row for row in own.projects.values() if repr(row["name"]) in task.instruction)
    rows = [row for row in own.tasks.values() if row["project_id"] == project["id"]]
    still = [row for row in rows if not row["is_completed"]]
    if task.kind == "change_favorite":
        return {project["id"]: {**project, "is_favorite": not project["is_favorite"]}}
    if task.kind == "complete_overdue":
        late = [row for row in still if row["due_date"] and row["due_date"] < "2026-03-02"]
        return {row["id"]: {**row, "is_completed": True} for row in late}
    if task.kind == "complete_urgent":
        urgent = [row for row in still if f"the priority {row['priority']}." in task.instruction]
        return {row["id"]: {**row, "is_completed": True} for row in urgent}
    if task.kind == "delete_longest":
        sign = 1 if "longest" in task.instruction else -1
        return {max(rows, key=lambda row: sign * row["duration"])["id"]: None}
    named = next(row for row in rows if repr(row["content"]) in task.instruction)
    if task.kind == "delete_one":
        return {named["id"]: None}
    return {named["id"]: {**named, "is_completed": True}}


def test_operations_change_what_their_goals_say():
    looked_at = set[str]()
    for task in Todo().tasks("train"):
        if task.change is not None and not task.kind.startswith("postpone"):
            looked_at.add(task.kind)
            assert task.change["tasks"] | task.change["projects"] == wanted_changes(task), task.instruction
    assert len(looked_at) == 7
