"""Generated projects and tasks, and the state of an episode on them.

> projects(lists("train", 0))[0]
{'id': '4010', 'order': 1, 'color': 'teal', 'name': 'Garden of Brieldis', 'is_favorite': False}
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from functools import lru_cache
from typing import Any, NamedTuple, Self

from agentgym_envs.families.states import EpisodeState
from agentgym_envs.knowledge.names import words
from agentgym_envs.knowledge.rows import Draw, listed
from agentgym_envs.tooluse.tables import Row, Table

VERSION = 1
WORLDS = {"train": 200, "valid": 50, "test": 100, "agentgym": 50}
"""Number of different lists by split."""
TODAY = date(2026, 3, 2)
PROJECT_IDS, TASK_IDS = range(4010, 4016), range(71_000, 71_048)
"""Identifiers, which are the same in all lists: a write that was learnt from one has an effect in others."""
PROJECTS, TASKS = 5, (4, 9)
COLORS = listed("teal red grape sky_blue olive charcoal")
THEMES = listed("Garden|Choir|House|Club|Journey|Workshop|Library|Festival", "|")
DEEDS = listed("Call|Paint|Order|Repair|Describe|Wash|Measure|Pack|Print|Invite", "|")
THINGS = listed("the tickets|the fence|the minutes|the lamps|the chairs|the map|the boxes|the guests", "|")
ENDS = listed("before noon|with care|by telephone|in the evening|with a list|for the others", "|")


class Lists(NamedTuple):
    """Projects and tasks at the beginning, by their identifiers."""

    city: str
    projects: Mapping[str, Row]
    tasks: Mapping[str, Row]


@dataclass
class TodoState(EpisodeState):
    """Projects and tasks as they are now."""

    city: str = ""
    projects: Table = field(default_factory=lambda: Table({}))
    tasks: Table = field(default_factory=lambda: Table({}))

    def copy(self) -> Self:
        return replace(self, seen=set(self.seen), projects=self.projects.copy(), tasks=self.tasks.copy())

    def change(self) -> Any:
        projects, tasks = self.projects.changes(), self.tasks.changes()
        if not projects and not tasks:
            return None
        return json.loads(json.dumps({"projects": projects, "tasks": tasks}))


@lru_cache(256)
def lists(split: str, number: int) -> Lists:
    """The lists of one number."""
    draw, own = Draw(f"agentevol.todo.{VERSION}.{split}.{number}"), words(split)
    coined = draw.sample(own.coined, PROJECTS + 60)
    themes = draw.sample(THEMES, PROJECTS)
    project_ids, task_ids = draw.sample(PROJECT_IDS, PROJECTS), draw.sample(TASK_IDS, len(TASK_IDS))
    projects, tasks = dict[str, Row](), dict[str, Row]()
    for place in range(PROJECTS):
        project = str(project_ids[place])
        projects[project] = {
            "id": project,
            "order": place + 1,
            "color": draw.pick(COLORS),
            "name": f"{themes[place]} of {coined[place]}",
            "is_favorite": draw.random() < 0.4,
        }
        for order in range(1, 1 + draw.randrange(*TASKS)):
            task = str(task_ids[len(tasks)])
            tasks[task] = _task(draw, task, project, order, coined[PROJECTS + len(tasks)])
    return Lists(draw.pick(own.places), projects, tasks)


def _task(draw: Draw, task: str, project: str, order: int, word: str) -> Row:
    deed, thing = draw.pick(DEEDS), draw.pick(THINGS)
    return {
        "id": task,
        "project_id": project,
        "order": order,
        "content": f"{deed} {thing} for {word}",
        "description": f"{deed} {thing} {draw.pick(ENDS)}.",
        "is_completed": draw.random() < 0.2,
        "priority": 1 + int(4 * draw.random()),
        "due_date": draw.sometimes(0.9, str(TODAY + timedelta(draw.randrange(-4, 15)))),
        "duration": 5 * draw.randrange(1, 25),
    }


def setting(split: str, draw: Draw) -> dict[str, Any]:
    """The number of the lists of a task."""
    return {"world": draw.randrange(WORLDS[split])}


def state(split: str, setting: Mapping[str, Any]) -> TodoState:
    """The state at the beginning."""
    own = lists(split, setting["world"])
    return TodoState(
        split=split,
        world=setting["world"],
        city=own.city,
        projects=Table(own.projects),
        tasks=Table(own.tasks),
    )
