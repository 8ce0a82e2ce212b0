"""Operations of `todo`: goals that change projects and tasks."""

from datetime import date, timedelta

from agentgym_envs.families.drafts import Ask, Draft, Solve, best, only
from agentgym_envs.families.todo.lists import TODAY, TodoState
from agentgym_envs.families.todo.subjects import (
    a_project,
    a_task,
    find_project,
    find_task,
    find_tasks,
    minutes,
    still_open,
)
from agentgym_envs.knowledge.rows import Draw

DONE = "Finish with 'done'."
MOST_CHANGED = 5


def complete_one(scene: TodoState, draw: Draw) -> Draft:
    """Complete a task that is named."""
    project, task = a_task(scene, draw, is_open=True)
    goal = draw.pick(
        ["Mark the task {!r} of my project {!r} as completed.", "I did {!r} of {!r}; complete it."]
    )

    def solve(ask: Ask) -> None:
        ask("complete_task", task_id=find_task(ask, project["name"], task["content"])["id"])

    return _operation(goal.format(task["content"], project["name"]), solve)


def delete_one(scene: TodoState, draw: Draw) -> Draft:
    """Delete a task that is named."""
    project, task = a_task(scene, draw)
    goal = draw.pick(
        ["Delete the task {!r} of my project {!r}.", "I no longer need {!r} in {!r}; delete it."]
    )

    def solve(ask: Ask) -> None:
        ask("delete_task", task_id=find_task(ask, project["name"], task["content"])["id"])

    return _operation(goal.format(task["content"], project["name"]), solve)


def postpone_one(scene: TodoState, draw: Draw) -> Draft:
    """Move the due date of a task that is named, to a date or by some days."""
    (project, task), days = a_task(scene, draw), draw.randrange(2, 12)
    by_days = draw.random() < 0.5 and task["due_date"] is not None
    day = str(TODAY + timedelta(days + 10))
    when = f"{days} days later" if by_days else f"to {day}"

    def solve(ask: Ask) -> None:
        found = find_task(ask, project["name"], task["content"])
        due = _later(found["due_date"], days) if by_days else day
        ask("update_task", task_id=found["id"], due_date=due)

    return _operation(
        f"Move the due date of the task {task['content']!r} of my project {project['name']!r} {when}.", solve
    )


def change_favorite(scene: TodoState, draw: Draw) -> Draft:
    """Make a project a favorite, or none."""
    project = a_project(scene, draw)
    wanted = not project["is_favorite"]

    def solve(ask: Ask) -> None:
        ask("update_project", project_id=find_project(ask, project["name"]), is_favorite=wanted)

    text = (
        "Make my project {!r} a favorite."
        if wanted
        else "My project {!r} is no favorite any more; change that."
    )
    return _operation(text.format(project["name"]), solve)


def complete_overdue(scene: TodoState, draw: Draw) -> Draft:
    """Complete the tasks that were due before today."""
    project = a_project(scene, draw)

    def solve(ask: Ask) -> None:
        today = ask("get_user_current_date")
        late = [
            one for one in still_open(find_tasks(ask, project["name"])) if (one["due_date"] or today) < today
        ]
        only(0 < len(late) <= MOST_CHANGED)
        for one in late:
            ask("complete_task", task_id=one["id"])

    return _operation(
        f"Complete all tasks of my project {project['name']!r} that were due before today.", solve
    )


def delete_longest(scene: TodoState, draw: Draw) -> Draft:
    """Delete the task with the longest or shortest duration."""
    project, longest = a_project(scene, draw), draw.random() < 0.5

    def solve(ask: Ask) -> None:
        durations = {one["id"]: minutes(ask, one) for one in find_tasks(ask, project["name"])}
        ask("delete_task", task_id=best(durations, longest))

    word = "longest" if longest else "shortest"
    return _operation(f"Delete the task of my project {project['name']!r} with the {word} duration.", solve)


def postpone_first(scene: TodoState, draw: Draw) -> Draft:
    """Move the due date of the task that is due first."""
    project, days = a_project(scene, draw), draw.randrange(2, 12)

    def solve(ask: Ask) -> None:
        dues = {
            one["id"]: one["due_date"]
            for one in still_open(find_tasks(ask, project["name"]))
            if one["due_date"]
        }
        only(bool(dues))
        first = best(dues, largest=False)
        ask("update_task", task_id=first, due_date=_later(dues[first], days))

    goal = f"In my project {project['name']!r}, find the task that is due first among those not completed,"
    return _operation(f"{goal} and move its due date {days} days later.", solve)


def complete_urgent(scene: TodoState, draw: Draw) -> Draft:
    """Complete the tasks of one priority."""
    project, priority = a_project(scene, draw), draw.randrange(1, 5)

    def solve(ask: Ask) -> None:
        urgent = [one for one in still_open(find_tasks(ask, project["name"])) if one["priority"] == priority]
        only(0 < len(urgent) <= MOST_CHANGED)
        for one in urgent:
            ask("complete_task", task_id=one["id"])

    return _operation(
        f"Complete all tasks of my project {project['name']!r} with the priority {priority}.", solve
    )


def complete_and_count(scene: TodoState, draw: Draw) -> Draft:
    """Complete a task, and tell how many are left."""
    project, task = a_task(scene, draw, is_open=True)

    def solve(ask: Ask) -> int:
        key = find_project(ask, project["name"])
        found = [one for one in ask("get_tasks", project_id=key) if one["content"] == task["content"]]
        only(len(found) == 1)
        ask("complete_task", task_id=found[0]["id"])
        return len(still_open(ask("get_tasks", project_id=key)))

    goal = (
        f"Complete the task {task['content']!r} of my project {project['name']!r}. How many tasks of the"
        " project are not completed then? Answer with an integer."
    )
    return Draft(goal, solve, "integer", operates=True)


def _operation(goal: str, solve: Solve) -> Draft:
    return Draft(f"{goal} {DONE}", solve, None, operates=True)


def _later(day: str, days: int) -> str:
    return str(date.fromisoformat(day) + timedelta(days))
