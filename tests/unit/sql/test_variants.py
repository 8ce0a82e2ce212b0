"""Variants, and the rule by which tasks are served."""

import sqlite3

import pytest

from agentgym_envs.sql.comparison.expectation import expected
from agentgym_envs.sql.comparison.matching import matches
from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.variants.resampling import variant
from agentgym_envs.sql.variants.schema import read_schema
from agentgym_envs.sql.variants.service import CONSTANTS, judge
from tests.support.pets import GOLDS, PETS, image

BASE = image()
SERVED = list(GOLDS)[:4]


def opened(content: bytes) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.deserialize(content)
    return connection


@pytest.fixture(scope="module")
def images() -> list[bytes]:
    return [BASE, *(variant(BASE, list(GOLDS), "pets", number) for number in range(1, 9))]


@pytest.fixture(scope="module")
def databases(images: list[bytes]) -> list[Database]:
    return [Source(None, content).opened() for content in images]


def test_a_variant_is_the_same_each_time_and_differs_from_others(images: list[bytes]) -> None:
    assert variant(BASE, list(GOLDS), "pets", 1) == images[1]
    assert len(set(images)) == 9
    assert variant(BASE, list(GOLDS), "other", 1) != images[1]


def test_a_variant_keeps_the_schema_and_the_references(images: list[bytes]) -> None:
    ddl = "SELECT name, sql FROM sqlite_master ORDER BY name"
    for content in images[1:]:
        connection = opened(content)
        assert connection.execute(ddl).fetchall() == opened(BASE).execute(ddl).fetchall()
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (pets,) = connection.execute("SELECT count(*) FROM pet").fetchone()
        assert 25 <= pets <= 60  # of 30: up to 40 % dropped, 20 to 60 % and copies added


def test_the_values_of_conditions_and_null_are_among_the_rows(images: list[bytes]) -> None:
    rows = [
        row for content in images[1:] for row in opened(content).execute("SELECT kind, age, name FROM pet")
    ]
    assert {3, 5, 90} <= {age for _, age, _ in rows}  # bounds of the golds
    assert max(age for _, age, _ in rows if age is not None) > 90
    assert any(name is None for _, _, name in rows)
    assert {"cat", "dog", "newt"} <= {kind for kind, _, _ in rows}
    assert max(age for _, _, _, age, _ in PETS) == 6  # the counter-test: the base has none of them


@pytest.mark.parametrize(
    ("gold", "same"),
    [
        ("SELECT age FROM pet ORDER BY age LIMIT 1", "SELECT min(age) FROM pet"),
        ("SELECT min(age) FROM pet", "SELECT age FROM pet ORDER BY age LIMIT 1"),
        (
            "SELECT max(name), age FROM pet GROUP BY age ORDER BY age LIMIT 1",
            "SELECT max(name), age FROM pet WHERE age = (SELECT min(age) FROM pet)",
        ),
    ],
)
def test_null_does_not_part_ways_to_ask_for_the_least_value(gold: str, same: str) -> None:
    golds = [*GOLDS, gold]
    for number in range(1, 9):
        database = Source(None, variant(BASE, golds, "pets", number)).opened()
        assert matches(database.run(same), expected(database, gold))
        assert database.run("SELECT count(*) FROM pet WHERE age IS NULL").rows == ((0,),)


def test_null_parts_them_where_the_base_has_it(images: list[bytes]) -> None:
    """The counter-test: without such a gold, or where the base has NULL already, variants have it."""
    nulls = "SELECT count(*) FROM pet WHERE age IS NULL"
    assert any(opened(content).execute(nulls).fetchone() != (0,) for content in images[1:])
    base = opened(BASE)
    base.execute("UPDATE pet SET age = NULL WHERE id = 7")
    base.commit()
    made = [variant(base.serialize(), ["SELECT min(age) FROM pet"], "pets", number) for number in range(1, 9)]
    assert any(opened(content).execute(nulls).fetchone() != (0,) for content in made)


def test_parents_come_first() -> None:
    assert [table.name for table in read_schema(opened(BASE))] == ["owner", "pet"]


def test_tasks_are_served_or_refused_with_the_reason(databases: list[Database]) -> None:
    schema = read_schema(opened(BASE))
    judged = {gold: judge(databases, gold, schema) for gold in GOLDS}
    assert [gold for gold, service in judged.items() if service.served] == SERVED
    assert [judged[gold].reason for gold in list(GOLDS)[4:]] == [
        "the result on the base is empty",
        "the result is the same on all variants",
        "gold unusable: it ends with error: no such column: nobody",
    ]
    alive = {gold: service.alive for gold, service in judged.items() if service.alive}
    assert alive == {SERVED[2]: ("boundary",)}  # all kinds occur with and without an age of 5


def test_without_variants_nothing_is_served(databases: list[Database]) -> None:
    """The counter-test: the base alone, or copies of it, do not tell golds from constants or mistakes."""
    assert judge(databases[:1], SERVED[0]).reason == "the result is empty on most variants"
    assert judge([databases[0]] * 4, SERVED[0]).reason == "the result is the same on all variants"


def test_constants_match_no_served_task(databases: list[Database]) -> None:
    assert CONSTANTS[:3] == ("SELECT 1 WHERE 0", "SELECT 0", "SELECT 1")
    assert len(CONSTANTS) == 15
    count = SERVED[1]
    own = databases[0].run(count).rows[0][0]
    assert own == 10  # `SELECT 10` is right on the base, and only there
    assert {database.run(count).rows[0][0] for database in databases} > {10}
