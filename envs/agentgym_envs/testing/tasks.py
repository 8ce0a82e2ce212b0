"""Checks of an environment's declarations: class facts, tasks, splits."""

import json
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from agentgym_envs.core import Environment, Task, TaskNotFound
from agentgym_envs.episodes import follow
from agentgym_envs.testing.subject import Subject, raised_by, spaced

ENV_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
INSTRUCTIONS = 20
"""Tasks of a split whose first observations are compared."""
TASK_ID = re.compile(r"[^\x00-\x1f\x7f-\x9f]{1,256}")


def check_facts(subject: Subject) -> Iterator[str]:
    """Class facts are declared and valid."""
    subject.cases += 1
    environment = subject.factory()
    low, high = environment.reward_range
    if not ENV_NAME.fullmatch(environment.name):
        yield f"name {environment.name!r} is not lower-case letters, digits, - and _, 1 to 64 of them"
    if environment.max_turns < 1:
        yield f"max_turns is {environment.max_turns}; it must be at least 1"
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        yield f"reward_range {(low, high)} is not two rising finite numbers"
    if not environment.splits or len(set(environment.splits)) != len(environment.splits):
        yield f"splits {environment.splits} are not one or more different names"
    if not (environment.version and environment.data_version):
        yield "version or data_version is empty"
    if environment.data_version != subject.factory().data_version:
        yield "data_version differs between two instances"
    environment.close()


def check_tasks(subject: Subject) -> Iterator[str]:
    """Ids are unique and valid, every task is found by its id, and unknown names raise the specified
    errors.
    """
    environment = subject.factory()
    seen: set[str] = set()
    for split, rows in subject.rows.items():
        subject.cases += len(rows)
        if not rows:
            yield f"split {split!r} has no task"
        for task in rows:
            yield from _row_problems(environment, split, task, seen)
        yield from _difficulty_problems(environment, split)
    yield from _refusal_problems(environment)
    environment.close()


def check_instruction(subject: Subject) -> Iterator[str]:
    """Tasks with different instructions begin differently: observations alone tell an agent its task."""
    environment = subject.factory()
    told = dict[str, Task]()
    for task in [task for rows in subject.rows.values() for task in spaced(rows, INSTRUCTIONS)]:
        subject.cases += 1
        first = subject.player.reset(environment, task, subject.seed).model_dump_json()
        other = told.setdefault(first, task)
        if other.instruction != task.instruction:
            yield f"{other.id!r} and {task.id!r} have different instructions, but the same first observation"
    environment.close()


def _row_problems(environment: Environment[Any], split: str, task: Task, seen: set[str]) -> Iterator[str]:
    if task.id in seen:
        yield f"id {task.id!r} occurs twice"
    seen.add(task.id)
    if not TASK_ID.fullmatch(task.id):
        yield f"id {task.id[:80]!r} is not 1 to 256 characters without control characters"
    if (task.env, task.split) != (environment.name, split):
        yield f"task {task.id!r} of {environment.name}/{split} says it is of {task.env}/{task.split}"
    if not task.instruction.strip():
        yield f"task {task.id!r} has no instruction"
    if environment.task(task.id) != task:
        yield f"task({task.id!r}) differs from the one that tasks({split!r}) lists"


def _difficulty_problems(environment: Environment[Any], split: str) -> Iterator[str]:
    for difficulty in environment.difficulties:
        tasks = environment.tasks(split, difficulty)
        if wrong := [task.id for task in spaced(tasks, 3) if task.difficulty != difficulty]:
            yield f"tasks({split!r}, {difficulty!r}) lists {wrong[0]!r}, which is of another difficulty"


def _refusal_problems(environment: Environment[Any]) -> Iterator[str]:
    first_split = environment.splits[0]
    requests: list[tuple[str, type[Exception], Callable[[], object]]] = [
        ("an unknown split", TaskNotFound, lambda: environment.tasks("no such split")),
        ("an unknown difficulty", ValueError, lambda: environment.tasks(first_split, "no such difficulty")),
        *[
            (
                f"the unknown task id {unknown[:20]!r}",
                TaskNotFound,
                lambda unknown=unknown: environment.task(unknown),
            )
            for unknown in (
                "no such task",
                "",
                "../../etc/passwd",
                f"{first_split}/999999999999",
                "x" * 10_000,
            )
        ],
    ]
    for what, expected, request in requests:
        if type(raised := raised_by(request)) is not expected and not isinstance(raised, expected):
            yield f"{what} raises {type(raised).__name__ if raised else 'nothing'}, not {expected.__name__}"


def check_splits(subject: Subject) -> Iterator[str]:
    """No task is in two splits, by its id, by its fields, or as the expert's whole episode. Splits that are
    variants of each other need only different ids.
    """
    owners: dict[tuple[str, str], Task] = {}
    environment = subject.factory()
    variants = set(environment.variant_splits)
    for split, task in [(split, task) for split, rows in subject.rows.items() for task in rows]:
        subject.cases += 1
        contents = list(_contents(subject, environment, task))
        firsts = {what: owners.setdefault((what, content), task) for what, content in contents}
        yield from (
            f"{task.id!r} of {split!r} has the {what} of {first.id!r} of {first.split!r}"
            for what, first in firsts.items()
            if first.split != split and (what == "id" or not {first.split, split} <= variants)
        )
    environment.close()


def _contents(subject: Subject, environment: Environment[Any], task: Task) -> Iterator[tuple[str, str]]:
    """Identity of a task: its id, its own fields, and the expert's episode, where it repeats itself."""
    yield "id", task.id
    own = task.model_dump(exclude={"env", "id", "split"})
    yield "content", json.dumps(own, sort_keys=True, default=str)
    plan = environment.expert(task) if environment.deterministic else None
    if plan is not None:
        episode = subject.player.play(environment, task, follow(plan), seed=subject.seed)
        texts = [episode.first.text, *(result.observation.text for result in episode.results)]
        yield "expert's episode", json.dumps([task.instruction, plan, texts])
