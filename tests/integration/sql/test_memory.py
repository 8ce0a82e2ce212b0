"""SQLite's memory is the process's: verdicts do not depend on what others of the process took of it."""

import sqlite3
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from agentgym_envs.sql.alone.process import AloneFailed
from agentgym_envs.sql.comparison.expectation import expected
from agentgym_envs.sql.environment import SQL, SQLTask
from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.executor.limits import HARD_HEAP_BYTES
from agentgym_envs.sql.executor.pool import borrowed
from agentgym_envs.sql.executor.results import Row, Value
from agentgym_envs.sql.writing.changes import change_here, net_change
from tests.support import pets

MIB = 1 << 20
LONG = "printf('%.*c', 90000, 'x')"
SORTED = (
    "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < {rows}) "
    f"SELECT count(*) FROM (SELECT n, {LONG} AS t FROM r ORDER BY n, t LIMIT 100000)"
)
HALF, TOO_MUCH = SORTED.format(rows=1200), SORTED.format(rows=3200)
"""Statements of which one needs about 110 MiB, and one more than SQLite's 256 MiB."""
TIES = f"SELECT p.name FROM pet AS p ORDER BY {LONG} || (p.age > 3)"
"""A gold that sorts 2.6 MiB, with two groups of ties."""


@contextmanager
def no_memory_left() -> Iterator[None]:
    """Other databases of this process take SQLite's memory, but for less than a MiB."""
    others = list[sqlite3.Connection]()
    try:
        with suppress(MemoryError):
            for _ in range(HARD_HEAP_BYTES // MIB + 1):
                others.append(sqlite3.connect(":memory:"))
                others[-1].deserialize(bytes(MIB))
        assert len(others) <= HARD_HEAP_BYTES // MIB, "nothing limits SQLite's memory"
        yield
    finally:
        for connection in others:
            connection.close()


@pytest.fixture
def source() -> Source:
    found = Source(None, pets.image())
    found.opened().close()  # the heap limit holds from here on
    return found


@pytest.mark.parametrize(
    ("statement", "status"),
    [(HALF, "ok"), pytest.param(TOO_MUCH, "resource_limit", marks=pytest.mark.slow)],
)
def test_a_result_does_not_depend_on_the_memory_of_others(
    source: Source, statement: str, status: str
) -> None:
    database = source.opened()
    first = database.run(statement)
    with no_memory_left():
        assert database.run(statement) == first
    assert first.status == status


def test_threads_that_fill_the_memory_at_once_have_the_results_of_one(source: Source) -> None:
    results, ready = list[object](), threading.Barrier(4)

    def run() -> None:
        database = source.opened()
        ready.wait()
        results.append(database.run(HALF).rows)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [((1200,),)] * 4


def test_what_a_gold_allows_does_not_depend_on_the_memory_of_others(source: Source) -> None:
    """Without the rank of its rows, ties would be compared in the order of the gold's own result."""
    database = source.opened()
    free = expected(database, TIES)
    with no_memory_left():
        assert expected(database, TIES) == free
    assert [group.taken for group in free.groups] == [18, 12]


def test_a_change_does_not_depend_on_the_memory_of_others(source: Source) -> None:
    statement = f"UPDATE pet SET name = {LONG} WHERE age > 3"
    free = net_change(source, statement)
    with no_memory_left():
        assert net_change(source, statement) == free
    assert len(free.changed) == 12


def test_a_statement_that_writes_too_much_is_told_so(source: Source) -> None:
    change = net_change(source, f"UPDATE pet SET name = ({TOO_MUCH.replace('count(*)', 'max(t)')})")
    assert (change.status, change.empty) == ("resource_limit", True)


def test_rows_that_leave_no_memory_to_read_them_have_reached_a_limit(
    source: Source, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Database, table: str) -> dict[Value, Row]:
        raise MemoryError(table)

    statement = "DELETE FROM pet"
    assert (
        change_here(source, statement, alone=True).status == "ok"
    )  # what the rows were is known from here on
    monkeypatch.setattr(Database, "rows_by_id", full)
    assert change_here(source, statement, alone=True).status == "resource_limit"
    with pytest.raises(MemoryError):
        change_here(source, statement)


def test_open_databases_make_room_for_another(source: Source) -> None:
    borrowed(source)
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE t AS SELECT zeroblob(3000000) AS x")
    large = [Source(None, connection.serialize()), Source(None, connection.serialize() + bytes(4096))]
    borrowed(large[0])
    with no_memory_left():
        assert borrowed(large[1]).run("SELECT length(x) > 100 FROM t").status != "error"


@pytest.mark.usefixtures("source")
@pytest.mark.parametrize("program", ["/nowhere/python", "/bin/false", "/bin/echo"])
def test_a_process_without_an_answer_is_no_verdict(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of a step is a failed episode, and no reward."""
    monkeypatch.setattr(sys, "executable", program)
    world = SQL()
    task: SQLTask = world.tasks("test", "easy")[0]
    world.reset(task, 0)
    with pytest.raises(AloneFailed):
        world.step(f"```sql\n{TOO_MUCH}\n```")
