"""Schema of a database: tables, keys, references; parents before their children."""

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentgym_envs.sql.queries.conditions import Join


@dataclass(frozen=True)
class Column:
    """Column of a table."""

    name: str
    nullable: bool
    known: bool = False
    """True if variants have no NULL here, although it may be there."""


@dataclass(frozen=True)
class Reference:
    """Foreign key, declared or found in joins of golds."""

    columns: tuple[int, ...]
    """Places of the columns in their table."""
    parent: str
    """Name of the parent table in lower case."""
    parent_columns: tuple[int, ...]


@dataclass(frozen=True)
class Table:
    """Table of a database."""

    name: str
    columns: tuple[Column, ...]
    uniques: tuple[tuple[int, ...], ...]
    """Places of the columns of the primary key, if there is one, and of other unique sets."""
    references: tuple[Reference, ...]

    @property
    def id(self) -> str:
        """The name in lower case."""
        return self.name.lower()

    def place(self, column: str) -> int | None:
        """Place of the column with this name, in any case."""
        names = [one.name.lower() for one in self.columns]
        return names.index(column.lower()) if column.lower() in names else None


def read_schema(connection: sqlite3.Connection, joins: Iterable[Join] = ()) -> list[Table]:
    """The tables of a database; `joins` are those of golds, which tell of references without a constraint."""
    names = [
        name
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        )
    ]
    tables = {name.lower(): _table(connection, name) for name in names}
    declared = [_with_references(connection, tables, table) for table in tables.values()]
    by_id = {table.id: table for table in declared}
    for join in joins:
        _add_join(by_id, join)
    return parents_first(list(by_id.values()))


def always_refers(tables: Sequence[Table], join: Join) -> bool:
    """True if every row of a join's first table has a row in its second: a reference that is never NULL."""
    child = next((table for table in tables if table.id == join.table), None)
    parent = next((table for table in tables if table.id == join.other_table), None)
    if child is None or parent is None:
        return False
    place, other = child.place(join.column), parent.place(join.other_column)
    return any(
        reference == Reference((place,), parent.id, (other,)) and not child.columns[place].nullable
        for reference in child.references
        if place is not None and other is not None
    )


def parents_first(tables: Sequence[Table]) -> list[Table]:
    """The tables in an order in which references point back, as far as there is one."""
    left, found = list(tables), list[Table]()
    while left:
        placed = {table.id for table in found}
        ready = [table for table in left if all(r.parent in placed | {table.id} for r in table.references)]
        chosen = ready or left[:1]  # a cycle is cut at its first table
        found += chosen
        left = [table for table in left if table not in chosen]
    return found


def quoted(name: str) -> str:
    """A name in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def _table(connection: sqlite3.Connection, name: str) -> Table:
    rows = connection.execute(f"PRAGMA table_info({quoted(name)})").fetchall()
    keys = sorted((row[5], row[0]) for row in rows if row[5])
    uniques = [tuple(place for _, place in keys)] if keys else []
    for index in connection.execute(f"PRAGMA index_list({quoted(name)})").fetchall():
        if index[2]:
            columns = connection.execute(f"PRAGMA index_info({quoted(index[1])})").fetchall()
            uniques.append(tuple(column[1] for column in columns))
    in_key = {place for _, place in keys}
    columns = tuple(Column(row[1], not row[3] and row[0] not in in_key) for row in rows)
    return Table(name, columns, tuple(dict.fromkeys(uniques)), ())


def _with_references(connection: sqlite3.Connection, tables: dict[str, Table], table: Table) -> Table:
    found = dict[int, list[tuple[str, str, str | None]]]()
    for row in connection.execute(f"PRAGMA foreign_key_list({quoted(table.name)})").fetchall():
        found.setdefault(row[0], []).append((row[2].lower(), row[3], row[4]))
    references = [
        reference for rows in found.values() if (reference := _reference(tables, table, rows)) is not None
    ]
    distinct = {reference.columns: reference for reference in reversed(references)}
    return Table(table.name, table.columns, table.uniques, tuple(distinct.values()))


def _reference(
    tables: dict[str, Table], table: Table, rows: list[tuple[str, str, str | None]]
) -> Reference | None:
    parent = tables.get(rows[0][0])
    if parent is None:
        return None
    key = parent.uniques[0] if parent.uniques else ()
    own = [table.place(column) for _, column, _ in rows]
    theirs = [
        parent.place(column) if column else (key[number] if number < len(key) else None)
        for number, (_, _, column) in enumerate(rows)
    ]
    columns = tuple(place for place in own if place is not None)
    parents = tuple(place for place in theirs if place is not None)
    return Reference(columns, parent.id, parents) if len(columns) == len(parents) == len(rows) else None


def _add_join(tables: dict[str, Table], join: Join) -> None:
    """Add the reference that a join shows, unless its columns have one in either direction."""
    sides = [(tables.get(join.table), join.column), (tables.get(join.other_table), join.other_column)]
    for (child, column), (parent, parent_column) in (sides, sides[::-1]):
        if child is None or parent is None:
            return
        place, parent_place = child.place(column), parent.place(parent_column)
        if place is None or parent_place is None or _refers(child, place) or _refers(parent, parent_place):
            return
        if (parent_place,) in parent.uniques and (place,) not in child.uniques[:1]:
            reference = Reference((place,), parent.id, (parent_place,))
            tables[child.id] = Table(child.name, child.columns, child.uniques, (*child.references, reference))
            return


def _refers(table: Table, place: int) -> bool:
    return any(place in reference.columns for reference in table.references)
