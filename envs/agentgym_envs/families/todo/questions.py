"""Questions of `todo`, and all its forms by the type of their answers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from agentgym_envs.families.drafts import Ask, Draft, Form, best, only
from agentgym_envs.families.todo import operations
from agentgym_envs.families.todo.lists import TodoState
from agentgym_envs.families.todo.subjects import (
    a_project,
    a_task,
    find_task,
    find_tasks,
    minutes,
    still_open,
)
from agentgym_envs.knowledge.rows import Draw

INTEGER = "Answer with an integer."
NAME = "Answer with its name."
NAMES = "Answer with their names in an array."


def fact_of_task(scene: TodoState, draw: Draw) -> Draft:
    """Description or due date of a task."""
    (project, task), described = a_task(scene, draw), draw.random() < 0.5

    def solve(ask: Ask) -> Any:
        found = find_task(ask, project["name"], task["content"])
        only(described or found["due_date"] is not None)
        return (
            ask("get_task_description", task_id=found["id"])["description"]
            if described
            else found["due_date"]
        )

    named = f"the task {task['content']!r} of my project {project['name']!r}"
    if described:
        return Draft(f"What is the description of {named}? Answer with the description.", solve)
    return Draft(f"When is {named} due? Answer with the date, YYYY-MM-DD.", solve, "date")


def extreme_task(scene: TodoState, draw: Draw) -> Draft:
    """The task that is due first or last, or the longest."""
    project, what = a_project(scene, draw), draw.pick(["first", "last", "longest"])

    def solve(ask: Ask) -> str:
        tasks = find_tasks(ask, project["name"])
        if what == "longest":
            return best({one["content"]: minutes(ask, one) for one in tasks})
        dues = {one["content"]: one["due_date"] for one in tasks if one["due_date"]}
        only(len(dues) > 1)
        return best(dues, what == "last")

    asked = "has the longest duration" if what == "longest" else f"is due {what}"
    return Draft(f"Which task of my project {project['name']!r} {asked}? {NAME}", solve, guessable=True)


def fullest_project(scene: TodoState, draw: Draw) -> Draft:  # noqa: ARG001 - the signature of a form
    """The project with the most tasks."""

    def solve(ask: Ask) -> str:
        return best({one["name"]: len(ask("get_tasks", project_id=one["id"])) for one in ask("get_projects")})

    return Draft(
        f"Which of my projects has the most tasks, completed ones included? {NAME}", solve, guessable=True
    )


def favorite_or_not(scene: TodoState, draw: Draw) -> Draft:
    """Whether a project is a favorite."""
    project = a_project(scene, draw)

    def solve(ask: Ask) -> str:
        found = [one["is_favorite"] for one in ask("get_projects") if one["name"] == project["name"]]
        return "yes" if found[0] else "no"

    goal = f"Is my project {project['name']!r} a favorite? Answer yes or no."
    return Draft(goal, solve, "boolean", guessable=True)


def completed_or_not(scene: TodoState, draw: Draw) -> Draft:
    """Whether a task is completed."""
    project, task = a_task(scene, draw)

    def solve(ask: Ask) -> str:
        return "yes" if find_task(ask, project["name"], task["content"])["is_completed"] else "no"

    goal = f"Is the task {task['content']!r} of my project {project['name']!r} completed? Answer yes or no."
    return Draft(goal, solve, "boolean", guessable=True)


def number_of_tasks(scene: TodoState, draw: Draw) -> Draft:
    """The number of tasks of a project that are open, completed, or due soon."""
    project, what = a_project(scene, draw), draw.pick(["not completed", "completed", "due before today"])

    def solve(ask: Ask) -> int:
        return len(_chosen(ask, project["name"], what))

    goal = f"How many tasks of my project {project['name']!r} are {what}? {INTEGER}"
    return Draft(goal, solve, "integer", guessable=True)


def total_duration(scene: TodoState, draw: Draw) -> Draft:
    """The duration of a task, or of all tasks of a project."""
    (project, task), total = a_task(scene, draw), draw.random() < 0.6

    def solve(ask: Ask) -> int:
        if total:
            return sum(minutes(ask, one) for one in find_tasks(ask, project["name"]))
        return minutes(ask, find_task(ask, project["name"], task["content"]))

    asked = "do all tasks of my project" if total else f"does the task {task['content']!r} of my project"
    return Draft(f"How many minutes {asked} {project['name']!r} take? {INTEGER}", solve, "integer")


def number_of_favorites(scene: TodoState, draw: Draw) -> Draft:  # noqa: ARG001
    """The number of favorite projects."""

    def solve(ask: Ask) -> int:
        return Counter(one["is_favorite"] for one in ask("get_projects"))[True]

    return Draft(f"How many of my projects are favorites? {INTEGER}", solve, "integer", guessable=True)


def names_of_tasks(scene: TodoState, draw: Draw) -> Draft:
    """The tasks of a project that are open, completed or due before today, or of one priority."""
    project = a_project(scene, draw)
    what = draw.pick(
        ["not completed", "completed", "due before today", f"of the priority {draw.randrange(1, 5)}"]
    )

    def solve(ask: Ask) -> list[str]:
        return [one["content"] for one in _chosen(ask, project["name"], what)]

    return Draft(f"Which tasks of my project {project['name']!r} are {what}? {NAMES}", solve)


def names_of_favorites(scene: TodoState, draw: Draw) -> Draft:  # noqa: ARG001
    """The projects that are favorites, or are not."""
    wanted = draw.random() < 0.5

    def solve(ask: Ask) -> list[str]:
        return [one["name"] for one in ask("get_projects") if one["is_favorite"] == wanted]

    return Draft(f"Which of my projects are {'' if wanted else 'not '}favorites? {NAMES}", solve)


def _chosen(ask: Ask, project: str, what: str) -> list[dict[str, Any]]:
    today = ask("get_user_current_date") if "today" in what else ""
    tasks = find_tasks(ask, project)
    if what == "not completed":
        return still_open(tasks)
    if what == "completed":
        return [one for one in tasks if one["is_completed"]]
    if today:
        return [one for one in tasks if (one["due_date"] or today) < today]
    return [one for one in tasks if one["priority"] == int(what[-1])]


FORMS: dict[str, Sequence[Form[TodoState]]] = {
    "string": (
        operations.complete_one,
        operations.delete_one,
        operations.postpone_one,
        operations.change_favorite,
        operations.complete_overdue,
        operations.delete_longest,
        operations.postpone_first,
        operations.complete_urgent,
        fact_of_task,
        fact_of_task,
        extreme_task,
        extreme_task,
        fullest_project,
        favorite_or_not,
        completed_or_not,
    ),
    "integer": (number_of_tasks, total_duration, number_of_favorites, operations.complete_and_count),
    "list": (names_of_tasks, names_of_tasks, names_of_favorites),
}
