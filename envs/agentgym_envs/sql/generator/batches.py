"""Batches of generated tasks: those of one level on one schema.

> batch("test", "hard", 0).tasks[0].question
'...'
"""

import random
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

from agentgym_envs.sql.executor.database import Source
from agentgym_envs.sql.generator.material import Draft, Material
from agentgym_envs.sql.generator.nested import EXTRA, HARD
from agentgym_envs.sql.generator.schemas import Schema, build, draw_schema
from agentgym_envs.sql.generator.simple import EASY, MEDIUM
from agentgym_envs.sql.generator.writes import WRITE
from agentgym_envs.sql.variants.resampling import variant
from agentgym_envs.sql.variants.schema import Table, read_schema
from agentgym_envs.sql.variants.service import judge
from agentgym_envs.sql.writing.service import judge_write

VERSION = 1
PER_SCHEMA = 10
"""Tasks of one level on one schema."""
COUNTS = {"train": 20_000, "valid": 100, "test": 200}
"""Tasks of one level by split."""
LEVELS: dict[str, tuple[Callable[[Material], Draft], ...]] = {
    "easy": EASY,
    "medium": MEDIUM,
    "hard": HARD,
    "extra": EXTRA,
    "write": WRITE,
}
VARIANTS = 4
LEAST_KILLED = 0.75
"""Share of the mutants that must differ from a gold: there are enough drafts to choose from."""
DRAFTS = 24
"""Drafts of which the tasks are chosen."""


class GeneratedTask(NamedTuple):
    """A served question."""

    draft: Draft
    counting: tuple[int, ...]
    """Numbers of the sources by which predictions are judged."""


class Batch(NamedTuple):
    """Tasks on one database."""

    sources: tuple[Source, ...]
    """The database that the agent queries, and its variants."""
    tasks: tuple[GeneratedTask, ...]


@lru_cache(maxsize=64)
def schema_and_image(split: str, number: int, attempt: int) -> tuple[Schema, bytes]:
    """A schema and its database."""
    draw = random.Random(f"agentevol.sql.schema.{VERSION}.{split}.{number}.{attempt}")
    schema = draw_schema(split, draw)
    return schema, build(schema, draw)


@lru_cache(maxsize=400)  # 50 MiB: an evaluation of all test and valid tasks twice over
def batch(split: str, level: str, number: int) -> Batch:
    """The tasks of a level on the schema with this number."""
    for attempt in range(100):
        found = _batch(split, level, number, attempt)
        if len(found.tasks) == PER_SCHEMA:
            return found
    raise RuntimeError(f"no schema has {PER_SCHEMA} tasks for {split}/{level}/{number}")


def _batch(split: str, level: str, number: int, attempt: int) -> Batch:
    schema, image = schema_and_image(split, number, attempt)
    name = f"{split}.{level}.{number}.{attempt}"
    drafts = _drafts(schema, image, level, name)
    golds = [draft.query.sql for draft in drafts]
    sources = (
        Source(None, image),
        *(Source(None, variant(image, golds, name, place)) for place in range(1, VARIANTS + 1)),
    )
    return Batch(sources, tuple(islice(_served(drafts, sources, _tables(image)), PER_SCHEMA)))


def _served(
    drafts: Sequence[Draft], sources: Sequence[Source], tables: Sequence[Table]
) -> Iterator[GeneratedTask]:
    """The drafts that are served."""
    databases = [source.opened() for source in sources]
    try:
        for draft in drafts:
            gold = draft.query.sql
            service = (
                judge_write(sources, gold)
                if draft.writes
                else judge(databases, gold, tables, least_killed=LEAST_KILLED)
            )
            if service.served:
                yield GeneratedTask(draft, service.counting)
    finally:
        for database in databases:
            database.close()


def _drafts(schema: Schema, image: bytes, level: str, name: str) -> list[Draft]:
    """Different questions, of the templates in turn."""
    draw = random.Random(f"agentevol.sql.questions.{VERSION}.{name}")
    material = Material(schema, image, draw)
    templates = LEVELS[level]
    drafts = [templates[place % len(templates)](material) for place in range(DRAFTS)]
    return list({draft.question: draft for draft in drafts}.values())


def _tables(image: bytes) -> list[Table]:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image)
    try:
        return read_schema(connection)
    finally:
        connection.close()
