"""Variants: databases of the same schema with other rows, on which wrong queries differ from right ones.

Rows are dropped and added, columns permuted, references pointed at other parents. The literals of the golds
are among the values, so that conditions hold for some rows. A variant is the same whenever it is made of the
same database, golds and number.
"""

import random
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from agentgym_envs.sql.executor.results import Row, Value
from agentgym_envs.sql.queries.conditions import Binding, Join, bindings, joins
from agentgym_envs.sql.queries.extremes import Name, least
from agentgym_envs.sql.queries.tokens import tokens
from agentgym_envs.sql.variants.schema import Reference, Table, quoted, read_schema
from agentgym_envs.sql.variants.values import Keys, perturbed, satisfying

VERSION = 2
SEED = "agentevol.sql.variant.1"
"""As in version 1, of which most rows are the same."""
DROPPED = (0.1, 0.4)
ADDED = (0.2, 0.6)
LEAST_ADDED = 10
"""Rows that are added at least: a table of six rows has no room for all conditions of its golds."""
WITNESSES = 0.5
"""Share of the new rows for which all conditions of one gold hold."""
NULLS = 0.03
COPIES = 0.08
KEPT_REFERENCES = 0.3

Rows = list[list[Value]]
Witness = list[tuple[int, Binding]]
"""Conditions of one gold on the columns of one table."""


def variant(image: bytes, golds: Sequence[str], name: str, number: int) -> bytes:
    """The bytes of a variant of a database; `name` and `number` are its seed."""
    base = sqlite3.connect(":memory:", isolation_level=None)
    base.deserialize(image)
    structures = [_structure(gold) for gold in golds]
    tables = read_schema(base, [join for one in structures for join in one.joins])
    conditions = [one.bindings for one in structures]
    wanted = [name for one in structures for name in one.least]
    draw = random.Random(f"{SEED}.{name}.{number}")
    made = dict[str, Rows]()
    base.execute("BEGIN")
    for table in tables:
        rows = base.execute(f"SELECT * FROM {quoted(table.name)}").fetchall()
        witnesses = _witnesses(tables, table, conditions)
        own = _with_known(table, rows, wanted)
        made[table.id] = _stored(base, own, _Resampling(own, rows, witnesses, made, draw).rows())
    base.execute("COMMIT")
    base.execute("VACUUM")
    image = base.serialize()
    base.close()
    return image


class _Structure(NamedTuple):
    """Statements of a gold about columns."""

    bindings: list[Binding]
    joins: list[Join]
    least: list[Name]


@lru_cache(maxsize=2048)
def _structure(gold: str) -> _Structure:
    parts = tokens(gold)
    return _Structure(bindings(parts), joins(parts), least(parts))


def _with_known(table: Table, rows: Sequence[Row], wanted: Sequence[Name]) -> Table:
    """The table with columns marked as known of whose values a gold wants the least: SQLite's order puts NULL
    first, which is no part of a question where the base has none.
    """
    names = {name.column for name in wanted if name.table in (table.id, None)}
    columns = tuple(
        replace(column, known=True)
        if column.name.lower() in names and all(row[place] is not None for row in rows)
        else column
        for place, column in enumerate(table.columns)
    )
    return replace(table, columns=columns)


def _stored(base: sqlite3.Connection, table: Table, rows: Rows) -> Rows:
    """Replace the rows of a table; the rows as SQLite has stored them, types and constraints applied."""
    marks = ", ".join("?" * len(table.columns))
    base.execute(f"DELETE FROM {quoted(table.name)}")
    base.executemany(f"INSERT OR IGNORE INTO {quoted(table.name)} VALUES ({marks})", rows)
    return [list(row) for row in base.execute(f"SELECT * FROM {quoted(table.name)}")]


def _witnesses(
    tables: Sequence[Table], table: Table, conditions: Sequence[Sequence[Binding]]
) -> list[Witness]:
    """For each gold with conditions on a table, those; conditions on references to it are on its keys."""
    found = list[Witness]()
    for gold in conditions:
        witness: Witness = []
        for binding in gold:
            if binding.table in (table.id, None):
                place = table.place(binding.column)
                witness += [] if place is None else [(place, binding)]
            witness += _on_key(tables, table, binding)
        if witness:
            found.append(witness)
    return found


def _on_key(tables: Sequence[Table], table: Table, binding: Binding) -> Witness:
    return [
        (reference.parent_columns[number], binding)
        for child in tables
        if binding.table == child.id
        for reference in child.references
        if reference.parent == table.id
        for number, place in enumerate(reference.columns)
        if place == child.place(binding.column)
    ]


class _Parents:
    """Keys to which a reference may point; some have many children, so that groups differ in size."""

    def __init__(self, keys: Rows, draw: random.Random) -> None:
        self._keys = keys
        self._known = {tuple(key) for key in keys}
        self._weights = list(accumulate(draw.random() ** 3 + 0.02 for _ in keys))

    def chosen(self, own: list[Value], draw: random.Random) -> list[Value]:
        """A key: often the one that a row has already, if it exists."""
        if not self._keys:
            return [None] * len(own)
        if draw.random() < KEPT_REFERENCES and tuple(own) in self._known:
            return own
        return draw.choices(self._keys, cum_weights=self._weights)[0]


class _Resampling:
    """New rows of one table."""

    def __init__(
        self,
        table: Table,
        base: Sequence[Row],
        witnesses: Sequence[Witness],
        made: Mapping[str, Rows],
        draw: random.Random,
    ) -> None:
        self.table, self.base, self.witnesses, self.made, self.draw = table, base, witnesses, made, draw
        self.columns = [[row[place] for row in base] for place in range(len(table.columns))]
        self.referring = {place for reference in table.references for place in reference.columns}
        self.key = set(table.uniques[0]) if table.uniques else set[int]()
        self.unique = {place for columns in table.uniques for place in columns}
        self.keys = {place: Keys(self.columns[place]) for place in self.unique - self.referring}
        self.parents = dict[Reference, _Parents]()

    def rows(self) -> Rows:
        """The rows of the variant."""
        if not self.base:
            return []
        kept = self._kept()
        count = max(LEAST_ADDED, round(len(self.base) * self.draw.uniform(*ADDED)))
        rows = kept + [self._new() for _ in range(count)]
        rows += [self._copy(self.draw.choice(rows)) for _ in range(round(len(rows) * COPIES))]
        for row in rows:
            self._refer(row)
            self._forget(row)
        return self._sound(rows)

    def _kept(self) -> Rows:
        """Rows of the base, with the columns outside of its keys permuted."""
        share = 1 - self.draw.uniform(*DROPPED)
        chosen = self.draw.sample(range(len(self.base)), max(1, round(len(self.base) * share)))
        rows = [list(self.base[number]) for number in sorted(chosen)]
        for place in range(len(self.table.columns)):
            if place not in self.unique:
                values = [row[place] for row in rows]
                self.draw.shuffle(values)
                for row, value in zip(rows, values, strict=True):
                    row[place] = value
        return rows

    def _new(self) -> list[Value]:
        """A row of drawn values; in some, the conditions of a gold hold."""
        witness: Witness = []
        if self.witnesses and self.draw.random() < WITNESSES:
            witness = self.draw.choice(self.witnesses)
        wanted = {place: satisfying(binding, self.draw) for place, binding in witness}
        return [self._value(place, wanted.get(place)) for place in range(len(self.table.columns))]

    def _value(self, place: int, wanted: Value) -> Value:
        """A value of a column: the wanted one, a new key, one of the column's own, or one near it."""
        if place in self.keys:
            return self.keys[place].take(wanted, self.draw)
        if wanted is not None:
            return wanted
        value = self.draw.choice(self.columns[place])
        return perturbed(value, self.draw) if self.draw.random() < 0.3 else value

    def _copy(self, row: list[Value]) -> list[Value]:
        """A row again, with a key of its own if the table has one."""
        copied = list(row)
        for place, keys in self.keys.items():
            copied[place] = keys.take(None, self.draw)
        return copied

    def _refer(self, row: list[Value]) -> None:
        """Point the references of a row at parents; one that a condition asked for stays if it exists."""
        for reference in self.table.references:
            if reference.parent not in self.made:  # to this table itself, or in a cycle
                continue
            if reference not in self.parents:
                keys = [[row[n] for n in reference.parent_columns] for row in self.made[reference.parent]]
                self.parents[reference] = _Parents(keys, self.draw)
            values = self.parents[reference].chosen([row[place] for place in reference.columns], self.draw)
            for place, value in zip(reference.columns, values, strict=True):
                row[place] = value

    def _forget(self, row: list[Value]) -> None:
        """NULL in some columns that may be so."""
        for place, column in enumerate(self.table.columns):
            if column.nullable and place not in self.unique and self.draw.random() < NULLS:
                row[place] = row[place] if column.known else None

    def _sound(self, rows: Rows) -> Rows:
        """The rows that keep the unique constraints and those on NULL; self-references point at rows."""
        seen = [Counter[tuple[object, ...]]() for _ in self.table.uniques]
        found: Rows = []
        for row in rows:
            keys = [tuple(_folded(row[place]) for place in columns) for columns in self.table.uniques]
            clash = any(before[key] and None not in key for before, key in zip(seen, keys, strict=True))
            if clash or any(row[place] is None and not self._nullable(place) for place in range(len(row))):
                continue
            for before, key in zip(seen, keys, strict=True):
                before[key] += 1
            found.append(row)
        self._refer_to_own(found)
        return found

    def _nullable(self, place: int) -> bool:
        return self.table.columns[place].nullable and place not in self.key

    def _refer_to_own(self, rows: Rows) -> None:
        for reference in self.table.references:
            if reference.parent != self.table.id or set(reference.columns) & self.unique:
                continue
            for row in rows:
                chosen = self.draw.choice(rows)
                null = self.draw.random() < 0.2 and all(map(self._nullable, reference.columns))
                for own, theirs in zip(reference.columns, reference.parent_columns, strict=True):
                    row[own] = None if null else chosen[theirs]


def _folded(value: Value) -> object:
    """A key as a NOCASE index compares it: it is stricter for other collations."""
    return value.lower() if isinstance(value, str) else value
