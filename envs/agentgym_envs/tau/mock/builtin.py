"""Built-in tasks of the mock domain: an invented team, and requests of its members.

Splits are disjoint in members.
"""

from functools import cache
from random import Random
from typing import Any

from agentgym_envs.tau.data.domain import Domain, Tasks
from agentgym_envs.tau.desk.people import person
from agentgym_envs.tau.reading import ticket_of
from agentgym_envs.tau.tasks import Action, Invocation, Scenario, TauTask
from agentgym_envs.tooluse.tables import Row

ENV = "tau-mock"
SOURCE = "builtin"
VERSION = "1"
"""Part of the seed: another generator makes another team."""
SPLITS = ("train", "train", "train", "train", "train", "train", "train", "valid", "test", "test")
"""Split by the last digit of a member's number."""
USERS = 40
VERBS = ("Order", "Repair", "Count", "Label", "Move", "Clean")
THINGS = ("the printer", "the archive boxes", "the spare keys", "the plants", "the first-aid kits")
REASONS = ("", "Before the audit", "Ask the caretaker first", "The list is in the hall")
POLICY = """\
You keep the to-do list of a team. A task has a title, may have a description, and is pending or completed.

- Create a task only for a user who exists, with the title and the description that the user gives.
- A task that the user says is done becomes completed; one that is to be done again becomes pending.
- The inbox is the user's: dismiss only the notification that the user means.
- Tasks cannot be deleted. Transfer a user who wants that to a human agent."""

Request = tuple[str, tuple[Invocation, ...], tuple[Action, ...]]
"""A wish, how its episode is set up, and the calls that grant it."""


@cache
def team() -> Domain:
    """The base state, which all tasks share."""
    draw = Random(f"agentevol.tau-mock.{VERSION}")
    tables: dict[str, dict[str, Row]] = {"tasks": {}, "users": {}, "notifications": {}}
    for number in range(USERS):
        who = person(number, draw)
        titles = draw.sample([f"{verb} {thing}" for verb in VERBS for thing in THINGS], 3)
        rows = [_row(len(tables["tasks"]) + place, title, draw) for place, title in enumerate(titles, 1)]
        tables["tasks"] |= {row["task_id"]: row for row in rows}
        ids = [row["task_id"] for row in rows]
        tables["users"][who.user_id] = {"user_id": who.user_id, "name": who.full_name, "tasks": ids}
    return Domain(tables, policies={"policy": POLICY, "policy_solo": POLICY})


@cache
def builtin_tasks() -> Tasks:
    """The tasks, which all instances share."""
    splits: dict[str, list[TauTask]] = {split: [] for split in dict.fromkeys(SPLITS)}
    for number, user in enumerate(team().tables["users"].values()):
        split = SPLITS[number % len(SPLITS)]
        draw = Random(f"agentevol.tau-mock.{VERSION}.{user['user_id']}")
        for kind, request in (("create", _create), ("status", _status), ("inbox", _inbox)):
            wish, setup, gold = request(user, draw)
            scenario = Scenario(reason=wish, known=f"You are {user['name']}, user id {user['user_id']}.")
            task = TauTask(
                env=ENV,
                id=f"{split}/{len(splits[split])}",
                split=split,
                instruction=ticket_of(scenario),
                kind=kind,
                source=SOURCE,
                user_id=user["user_id"],
                scenario=scenario,
                setup=setup,
                gold=gold,
            )
            splits[split].append(task)
    return Tasks(splits, {SOURCE: team()}, f"builtin:{VERSION}")


def _row(number: int, title: str, draw: Random) -> Row:
    status = draw.choice(("pending", "completed"))
    description = draw.choice(REASONS) or None
    return {"task_id": f"task_{number}", "title": title, "description": description, "status": status}


def _create(user: Row, draw: Random) -> Request:
    arguments: dict[str, Any] = {
        "user_id": user["user_id"],
        "title": f"{draw.choice(VERBS)} {draw.choice(THINGS)} again",
    }
    wish = f"You want a new task called '{arguments['title']}'"
    if reason := draw.choice(REASONS):
        arguments["description"] = reason
        wish += f" with the description '{reason}'"
    return f"{wish}.", (), (Action(name="create_task", arguments=arguments),)


def _status(user: Row, draw: Random) -> Request:
    task = team().tables["tasks"][draw.choice(user["tasks"])]
    is_done = task["status"] == "completed"
    wish = f"Your task {task['task_id']} is {'to be done again' if is_done else 'done'}."
    return wish, (), (_set(task["task_id"], "pending" if is_done else "completed"),)


def _inbox(user: Row, draw: Random) -> Request:
    """Two tasks are added and announced; the user means one of them."""
    setup = list[Invocation]()
    titles = [f"{draw.choice(VERBS)} {thing} today" for thing in draw.sample(THINGS, 2)]
    ids = [f"task_{len(team().tables['tasks']) + number}" for number in (1, 2)]
    for task_id, title in zip(ids, titles, strict=True):
        creation = {"user_id": user["user_id"], "title": title}
        setup.append(Invocation(side="assistant", function="create_task", arguments=creation))
        news = {
            "notification_id": f"notif_{task_id}",
            "message": f"Task '{title}' has been assigned to you.",
            "task_id": task_id,
        }
        setup.append(Invocation(side="user", function="add_notification", arguments=news))
    chosen = draw.randrange(2)
    wish = (
        f"A notification in your inbox says that the task '{titles[chosen]}' is yours. The task is done; have"
        " its status set, and have the notification dismissed."
    )
    dismissal = Action(name="dismiss_notification", arguments={"notification_id": f"notif_{ids[chosen]}"})
    return wish, tuple(setup), (Action(name="check_notifications"), _set(ids[chosen], "completed"), dismissal)


def _set(task_id: str, status: str) -> Action:
    return Action(name="update_task_status", arguments={"task_id": task_id, "status": status})
