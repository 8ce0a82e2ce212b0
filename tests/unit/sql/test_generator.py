"""Generated schemas and questions."""

import sqlite3
from itertools import combinations

import pytest

from agentgym_envs.sql.comparison.expectation import expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.generator import words
from agentgym_envs.sql.generator.batches import COUNTS, LEVELS, PER_SCHEMA, batch, schema_and_image
from agentgym_envs.sql.tasks import Catalogue
from tests.support.sql_mutants import mutants_differ


def opened(image: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image)
    return connection


def test_nouns_are_of_one_split_only() -> None:
    sets = [set(words.ENTITIES[split]) for split in COUNTS]
    sets += [set(words.LINKS[split]) for split in COUNTS]
    assert all(not one & other for one, other in combinations(sets, 2))
    assert min(map(len, sets[:3])) >= 10


def test_schemas_have_three_to_seven_tables_and_sound_references() -> None:
    sizes = set[int]()
    for number in range(40):
        schema, image = schema_and_image("train", number, 0)
        connection = sqlite3.connect(":memory:")
        connection.deserialize(image)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master WHERE type = 'table'").fetchone()
        assert tables == len(schema.ddl)
        sizes.add(tables)
    assert sizes == {3, 4, 5, 6, 7}


@pytest.mark.parametrize("level", ["easy", "medium", "hard", "extra"])
def test_every_task_has_variants_that_tell_its_gold(level: str) -> None:
    found = batch("valid", level, 1)
    assert len(found.tasks) == PER_SCHEMA
    assert len({task.draft.question for task in found.tasks}) == PER_SCHEMA
    for task in found.tasks:
        databases = [found.sources[number].opened() for number in task.counting]
        allowed = [expected(one, task.draft.query.sql) for one in databases]
        assert len(allowed) >= 3
        assert task.counting[0] == 0
        rows = [one.run(task.draft.query.sql) for one in databases]
        assert all(map(matches, rows, allowed))
        assert not all(matches(rows[0], one) for one in allowed)


def test_tasks_are_the_same_whenever_they_are_made() -> None:
    catalogue = Catalogue(None)
    first = [catalogue.task(f"test/{level}/7") for level in LEVELS]
    batch.cache_clear()
    schema_and_image.cache_clear()
    assert [catalogue.task(f"test/{level}/7") for level in LEVELS] == first
    assert first[0].instruction == "How many acrobats are there whose distance is at most 90.8?"
    assert catalogue.tasks("train", None)[5].id == "train/easy/1"
    assert len(catalogue.tasks("train", "hard")) == 20_000


def test_most_mutants_of_generated_golds_differ_from_them() -> None:
    levels = ("easy", "medium", "hard", "extra")
    differ = [one for level in levels for one in mutants_differ(batch("test", level, 2))]
    killed, alive = differ.count(True), differ.count(False)
    assert killed >= 0.9 * (killed + alive)
    assert killed > 50
