"""Net change of a statement on a copy of a database: `net_change`.

> net_change(source, "UPDATE pet SET age = 4 WHERE id = 2").changed
{('pet', 2): ((2, 'Tim', 3), (2, 'Tim', 4))}

The copy is in memory, and what was written is rolled back. Ids that the database itself gives to new rows do
not count.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from agentgym_envs.sql.alone.process import executed_alone
from agentgym_envs.sql.comparison.values import same_rows
from agentgym_envs.sql.executor.database import Database, Source
from agentgym_envs.sql.executor.pool import borrowed
from agentgym_envs.sql.executor.results import Row, Status, Value

CONTENTS = 64
"""Databases whose rows a process keeps: a verdict reads up to nine."""
Rows = dict[Value, Row]
"""Rows of a table by rowid."""


class Change(NamedTuple):
    """Net change of one statement."""

    status: Status
    """`ok`, or why the statement changed nothing."""
    changed: dict[tuple[str, Value], tuple[Row, Row | None]]
    """Old and new row by table and rowid; None for a deleted one."""
    inserted: dict[str, tuple[Row, ...]]
    """New rows by table, without an id that is a rowid."""

    @property
    def empty(self) -> bool:
        """True if the database is as it was."""
        return not self.changed and not self.inserted


def net_change(source: Source, sql: str) -> Change:
    """Net change by a statement, which is executed by itself, with the limits of a query.

    Where no memory is left for it, it is executed again in a process of its own.
    """
    try:
        return change_here(source, sql)
    except MemoryError:
        return Change(*executed_alone("change", source.path, source.image, sql))


def change_here(source: Source, sql: str, *, alone: bool = False) -> Change:
    """Net change by a statement in this process; raises `MemoryError` unless it is `alone` in it."""
    database = source.opened(writable=True, alone=alone)
    try:
        return _net_change(database, sql, _content(source))
    except MemoryError:
        if not alone:
            raise
        return Change("resource_limit", {}, {})  # its rows fill the memory in which they would be read
    finally:
        database.close()


def same_change(one: Change, other: Change) -> bool:
    """True if two changes are equal, values compared as in results."""
    if one.status != "ok" or one.changed.keys() != other.changed.keys():
        return False
    if one.inserted.keys() != other.inserted.keys():
        return False
    pairs = [(new, other.changed[key][1]) for key, (_, new) in one.changed.items()]
    return all(_same_row(*pair) for pair in pairs) and all(
        len(rows) == len(other.inserted[table]) and same_rows(rows, other.inserted[table])
        for table, rows in one.inserted.items()
    )


def _net_change(database: Database, sql: str, before: Mapping[str, Rows]) -> Change:
    with database.transaction():
        result = database.run(sql)
        if result.status not in ("ok", "too_many_rows"):
            return Change(result.status, {}, {})
        written = [table for table in database.tables if table.lower() in database.rules.written]
        after = {table: database.rows_by_id(table) for table in written}
    changed, inserted = dict[tuple[str, Value], tuple[Row, Row | None]](), dict[str, tuple[Row, ...]]()
    for table, now in after.items():
        rows = before[table]
        changed |= {(table, key): (row, now.get(key)) for key, row in rows.items() if now.get(key) != row}
        surrogate = database.surrogate(table)
        new = tuple(_without(row, surrogate) for key, row in now.items() if key not in rows)
        inserted |= {table: new} if new else {}
    return Change("ok", changed, inserted)


@lru_cache(maxsize=CONTENTS)
def _content(source: Source) -> Mapping[str, Rows]:
    """The rows of all tables, by table."""
    database = borrowed(source)
    return {table: database.rows_by_id(table) for table in database.tables}


def _without(row: Row, place: int | None) -> Row:
    return row if place is None else (*row[:place], *row[place + 1 :])


def _same_row(one: Row | None, other: Row | None) -> bool:
    if one is None or other is None:
        return one is other
    return same_rows([one], [other])
