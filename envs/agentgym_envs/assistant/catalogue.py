"""The tasks: their ids, and the offices in which they are set."""

import re
from collections import OrderedDict
from functools import lru_cache
from threading import local
from typing import NamedTuple

from agentgym_envs import knowledge
from agentgym_envs.assistant.content import generated
from agentgym_envs.assistant.content.names import FIRST_TEST, FIRST_VALID, split_of
from agentgym_envs.assistant.database import Image, Office
from agentgym_envs.assistant.histories import Histories
from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tasks import LEVELS, Gold, draft
from agentgym_envs.core import TaskNotFound

SIZES = {"train": 2_000, "valid": 300, "test": 500}
"""Split to the number of tasks of each level."""
FIRST_OFFICE = {"train": 0, "valid": FIRST_VALID, "test": FIRST_TEST}
SEEDS = 4
"""Tasks of one template in one office."""
OFFICES_OF_KNOWLEDGE = 50
"""Offices that share their knowledge of weather, films and papers."""
OFFICES_TRIED, OFFICES_APART = 5, 1_000
"""Offices that are tried for fitting content, the task's own first, and the distance between them."""
ID = re.compile(r"assistant/(train|valid|test)/([a-z_]{1,40})/([0-9]{1,6})-([0-9]{1,2})", re.ASCII)
OFFICES_KEPT = 64
"""Offices that a thread keeps, besides those of its episodes."""


class Place(NamedTuple):
    """Parts of a task's id."""

    split: str
    template: str
    office: int
    seed: int

    @property
    def id(self) -> str:
        """Id of the task."""
        return f"assistant/{self.split}/{self.template}/{self.office}-{self.seed}"


class Made(NamedTuple):
    """A task as it was made."""

    gold: Gold
    actions: tuple[str, ...]
    """Those of the expert."""
    office: int
    """Office of the task: that of its id, or the next one with fitting content."""


def templates(split: str, level: str) -> list[str]:
    """Names of the templates of a level in a split."""
    seen, unseen = LEVELS[level]
    return [template.__name__ for template in (*seen, *(unseen if split == "test" else ()))]


def place(split: str, level: str, number: int) -> Place:
    """The task `number` of a level."""
    names = templates(split, level)
    group = number // len(names)
    return Place(split, names[number % len(names)], FIRST_OFFICE[split] + group // SEEDS, group % SEEDS)


def parsed(task_id: str) -> tuple[Place, str]:
    """The place and level of a task by its id. Raises `TaskNotFound`."""
    found = ID.fullmatch(task_id)
    if found is None:
        raise _missing(task_id)
    split, template, office, seed = found.group(1), found.group(2), int(found.group(3)), int(found.group(4))
    level = next((level for level in LEVELS if template in templates(split, level)), None)
    if level is None:
        raise _missing(task_id)
    names = templates(split, level)
    group = (office - FIRST_OFFICE[split]) * SEEDS + seed
    number = group * len(names) + names.index(template)
    where = Place(split, template, office, seed)
    if seed >= SEEDS or not 0 <= number < SIZES[split] or where.id != task_id:
        raise _missing(task_id)
    return where, level


def _missing(task_id: str) -> TaskNotFound:
    return TaskNotFound(f"assistant has no task {task_id[:80]!r}")


@lru_cache(maxsize=8192)
def made(where: Place) -> Made:
    """The gold and the expert's actions of a task.

    Raises `LookupError` if no office has content for it, which the tests exclude.
    """
    reasons = list[str]()
    for distance in range(OFFICES_TRIED):
        number = where.office + distance * OFFICES_APART
        try:
            gold, solution = draft(where.template, f"{number}-{where.seed}", where.split, opened(number))
        except LookupError as reason:
            reasons.append(str(reason))
            continue
        return Made(gold, tuple(solution.actions), number)
    raise LookupError("; ".join(reasons))


class Generated(NamedTuple):
    """An office that was generated."""

    image: Image
    histories: Histories


class _Recent(local):
    """The offices that were used last; each thread has its own, as SQLite's connections are a thread's."""

    def __init__(self) -> None:
        self.offices: OrderedDict[int, Generated] = OrderedDict()


_recent = _Recent()


def opened(number: int) -> Session:
    """A session in an office, without a task."""
    return Session(Office(office(number).image))


def office(number: int) -> Generated:
    """An office, with the knowledge that goes with it."""
    kept = _recent.offices
    found = kept.get(number)
    if found is not None:
        kept.move_to_end(number)
        return found
    split = split_of(number)
    group = (number - FIRST_OFFICE[split]) % OFFICES_APART // OFFICES_OF_KNOWLEDGE
    world = knowledge.connection(split, group)
    cities = [name for (name,) in world.execute("SELECT DISTINCT name FROM city ORDER BY name")]
    new = kept[number] = Generated(Image(generated(number, tuple(cities)), world), Histories())
    if len(kept) > OFFICES_KEPT:
        kept.popitem(last=False)  # not closed: episodes may use it
    return new
