"""Tasks of the environment by id: generated ones, and imported ones once there are some.

`train/hard/17` is the same question on every machine; `pets_1/23` is the task at place 23 of its source.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from agentgym_envs.core import Task, TaskNotFound
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.generator.batches import COUNTS, LEVELS, PER_SCHEMA, GeneratedTask, batch
from agentgym_envs.sql.imported.library import ImportedTask, Library

ENV = "sql"
DIFFICULTIES = tuple(LEVELS)
_GENERATED = re.compile(r"([a-z]{1,20})/([a-z]{1,20})/(0|[1-9][0-9]{0,8})")


class SQLTask(Task):
    """A question to a database. `gold` stays on the server."""

    gold: str
    writes: bool = False
    """True if the answer changes rows, and is judged by its net change."""


class Judges(NamedTuple):
    """Databases of a task."""

    base: Source
    """The one that the agent queries."""
    counting: tuple[Source, ...]
    """Those by which a prediction is judged."""


class Catalogue:
    """All tasks: generated, and those of a library."""

    def __init__(self, library: Library | None) -> None:
        self.library = library

    @property
    def splits(self) -> tuple[str, ...]:
        """Splits in a fixed order."""
        return (*COUNTS, *(self.library.splits if self.library else ()))

    def tasks(self, split: str, difficulty: str | None) -> Sequence[SQLTask]:
        """Tasks of a split; levels of generated ones take turns."""
        if split not in self.splits:
            raise TaskNotFound(f"sql has no split {split[:80]!r}; there are: {', '.join(self.splits)}")
        if difficulty is not None and difficulty not in DIFFICULTIES:
            raise ValueError(f"no difficulty {difficulty[:80]!r}; there are: {', '.join(DIFFICULTIES)}")
        levels = DIFFICULTIES if difficulty is None else (difficulty,)
        if split in COUNTS:
            return LazySequence(
                COUNTS[split] * len(levels),
                lambda place: _generated(split, levels[place % len(levels)], place // len(levels)),
            )
        rows = self.library.by_split[split] if self.library else ()
        chosen = [row for row in rows if row.difficulty in levels or difficulty is None]
        return LazySequence(len(chosen), lambda place: _imported(chosen[place]))

    def task(self, task_id: str) -> SQLTask:
        """The task with this id; raises `TaskNotFound`."""
        found = _GENERATED.fullmatch(task_id)
        if found and found[1] in COUNTS and found[2] in LEVELS and int(found[3]) < COUNTS[found[1]]:
            return _generated(found[1], found[2], int(found[3]))
        row = self.library.tasks.get(task_id) if self.library else None
        if row is None:
            raise TaskNotFound(f"sql has no task {task_id[:80]!r}")
        return _imported(row)

    def judges(self, task: SQLTask) -> Judges:
        """The databases of a task."""
        row = self.library.tasks.get(task.id) if self.library else None
        if row is not None and self.library is not None:
            library = self.library
            return Judges(library.source(row, 0), tuple(library.source(row, one) for one in row.counting))
        split, level, number = task.id.split("/")
        made = batch(split, level, int(number) // PER_SCHEMA)
        counting = made.tasks[int(number) % PER_SCHEMA].counting
        return Judges(made.sources[0], tuple(made.sources[one] for one in counting))


def _generated(split: str, level: str, number: int) -> SQLTask:
    made: GeneratedTask = batch(split, level, number // PER_SCHEMA).tasks[number % PER_SCHEMA]
    return SQLTask(
        env=ENV,
        id=f"{split}/{level}/{number}",
        split=split,
        instruction=made.draft.question,
        kind=made.draft.kind,
        difficulty=level,
        gold=made.draft.query.sql,
        writes=made.draft.writes,
    )


def _imported(row: ImportedTask) -> SQLTask:
    return SQLTask(
        env=ENV,
        id=row.id,
        split=row.split,
        instruction=row.question,
        kind=row.database,
        difficulty=row.difficulty if row.difficulty in DIFFICULTIES else "",
        gold=row.gold,
    )
