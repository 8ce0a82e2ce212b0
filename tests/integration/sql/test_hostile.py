"""Hostile statements: nothing is written, memory is bounded, and the next statement is served."""

import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentgym_envs.sql.executor.database import Database, Source
from tests.support.hostile_sql import HOSTILE

HARMLESS = {
    "SELECT CAST(x'fffe80' AS TEXT), x'00ff'",
    "SELECT printf('%1000000000d', 1) || printf('%.900000000f', 1.5)",  # NULL
    "\ufeffSELECT\u00a01",
}
"""Statements whose result may be `ok`."""
MAY_END = ("sizes", "patterns", "texts", "nesting")
"""Classes in which a statement that stays within its limits may have a result."""
MEMORY_MIB = 300  # 256 MiB of SQLite, and what Python takes
STATEMENTS = [(kind, sql) for kind, statements in HOSTILE.items() for sql in statements]


def build(path: Path) -> Path:
    connection = sqlite3.connect(path)
    connection.executescript(
        "CREATE TABLE town (id INTEGER PRIMARY KEY, name TEXT);"
        "CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT COLLATE NOCASE, age INTEGER, "
        "town_id INTEGER REFERENCES town (id));"
    )
    connection.executemany("INSERT INTO town VALUES (?, ?)", [(n, f"town {n}") for n in range(1, 4)])
    people = [(n, f"person {n}", 20 + n % 50, 1 + n % 3) for n in range(1, 101)]
    connection.executemany("INSERT INTO person VALUES (?, ?, ?, ?)", people)
    connection.commit()
    connection.close()
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("hostile")
    build(found / "base.sqlite")
    return found


@pytest.fixture(scope="module")
def database(folder: Path) -> Iterator[Database]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("agentgym_envs.sql.executor.meter.MAX_CPU_S", 2.0)  # quicker; steps come first
        yield Source(folder / "base.sqlite").opened()


def test_the_list_is_long_and_has_every_class() -> None:
    assert len(STATEMENTS) >= 80
    assert min(map(len, HOSTILE.values())) >= 3


@pytest.mark.parametrize(
    ("kind", "sql"), STATEMENTS, ids=[f"{kind}-{sql[:40]!r}" for kind, sql in STATEMENTS]
)
def test_a_hostile_statement_is_contained(kind: str, sql: str, folder: Path, database: Database) -> None:
    before = (folder / "base.sqlite").read_bytes()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result = database.run(sql.replace("{folder}", str(folder)))
    assert (folder / "base.sqlite").read_bytes() == before
    assert [one.name for one in folder.iterdir()] == ["base.sqlite"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory < MEMORY_MIB * 1024
    if kind not in MAY_END:
        assert result.status != "ok"
    assert len(result.message) <= 200
    assert database.run("SELECT count(*), max(age) FROM person").rows == ((100, 69),)
    again = database.run(sql.replace("{folder}", str(folder)))
    assert again == result, "the verdict is the same at the second time"


def test_the_same_statements_do_harm_without_the_rules(tmp_path: Path) -> None:
    """The counter-test: on a plain connection files appear and rows go."""
    connection = sqlite3.connect(build(tmp_path / "base.sqlite"), isolation_level=None, uri=True)
    for sql in (*HOSTILE["files"][:4], *HOSTILE["writes"][:1], *HOSTILE["schema"][:1]):
        connection.execute(sql.replace("{folder}", str(tmp_path)))
    connection.close()
    assert {"a.db", "b.db", "c.db"} <= {one.name for one in tmp_path.iterdir()}
    with sqlite3.connect(tmp_path / "base.sqlite") as plain:
        assert plain.execute("SELECT name FROM sqlite_master").fetchall() == [("town",)]
    plain.close()


def test_statuses_say_what_happened(database: Database) -> None:
    statuses = {
        sql: database.run(sql).status
        for sql in (
            "SELECT 1",
            "SELECT x",
            "DROP TABLE person",
            "SELECT date('now')",
            HOSTILE["recursion"][0],
            "SELECT 1 FROM person a, person b",
        )
    }
    assert list(statuses.values()) == ["ok", "error", "denied", "denied", "resource_limit", "too_many_rows"]
    assert database.run("SELECT date('now')").message.startswith("the functions of dates need a date")
    assert database.run("SELECT load_extension('x')").message == "the function load_extension is not allowed"
    assert (
        database.run("PRAGMA query_only=0").message
        == "a statement begins with SELECT, VALUES, WITH; not with PRAGMA"
    )


def test_steps_and_not_time_stop_a_statement(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a machine whose clock runs a hundred times slower, the result is the same."""
    sql = HOSTILE["recursion"][0]
    first = database.run(sql)
    monkeypatch.setattr("agentgym_envs.sql.executor.meter.time.thread_time", lambda: 0.0)
    assert database.run(sql) == first
    assert first.message == "the statement took more than 5,000,000 steps"


def test_the_time_limit_stops_long_steps(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter(range(0, 10_000, 3))
    monkeypatch.setattr("agentgym_envs.sql.executor.meter.time.thread_time", lambda: float(next(seconds)))
    assert (
        database.run(HOSTILE["recursion"][0]).message == "the statement took more than 2 s of computing time"
    )


def test_a_writable_database_writes_rows_only_and_rolls_back(folder: Path) -> None:
    database = Source(folder / "base.sqlite").opened(writable=True)
    for sql in (
        "SELECT 1",
        "DROP TABLE person",
        "COMMIT",
        "CREATE TABLE x (y)",
        "INSERT INTO sqlite_master VALUES (1,2,3,4,5)",
        "UPDATE sqlite_sequence SET seq = 1",
        "DELETE FROM person; DELETE FROM town",
    ):
        with database.transaction():
            assert database.run(sql).status in {"denied", "error"}, sql
    with database.transaction():
        assert database.run("DELETE FROM person WHERE age > 30").status == "ok"
        assert len(database.rows_by_id("person")) == 22
    assert len(database.rows_by_id("person")) == 100
    assert [one.name for one in folder.iterdir()] == ["base.sqlite"]
