"""Results that a gold allows on one database: `expected`.

A result is a sequence of groups whose rows may stand in any order: all rows together without ORDER BY, and
those that tie on the ordering with one. Where LIMIT cuts a group, any of its rows may be taken.
"""

from collections.abc import Sequence
from typing import NamedTuple

from agentgym_envs.sql.comparison.ordering import ranked
from agentgym_envs.sql.comparison.values import same_rows
from agentgym_envs.sql.executor.database import Database
from agentgym_envs.sql.executor.results import Result, Row
from agentgym_envs.sql.queries.clauses import Select, Unreadable, read


class Group(NamedTuple):
    """Rows of which `taken` are in the result."""

    rows: tuple[Row, ...]
    taken: int


class Expected(NamedTuple):
    """Results that a gold allows."""

    columns: int
    groups: tuple[Group, ...]

    @property
    def length(self) -> int:
        """Number of rows."""
        return sum(group.taken for group in self.groups)

    @property
    def empty(self) -> bool:
        """True if there are no rows, or no values but NULL."""
        return all(value is None for group in self.groups for row in group.rows for value in row)


class UnusableGold(ValueError):
    """A gold whose result cannot be judged by."""


def expected(database: Database, gold: str) -> Expected:
    """The results that a gold allows on a database; raises `UnusableGold`."""
    first, second = database.run(gold), database.run(gold)
    if first.status != "ok":
        raise UnusableGold(f"it ends with {first.status}: {first.message}")
    if first != second:
        raise UnusableGold("two executions differ")
    try:
        query = read(gold)
    except Unreadable as cause:
        raise UnusableGold(str(cause)) from None
    return Expected(len(first.columns), _groups(database, query, first))


def _groups(database: Database, query: Select, result: Result) -> tuple[Group, ...]:
    rows = result.rows
    if not query.order and query.limit is None:
        return (Group(rows, len(rows)),) if rows else ()
    found = ranked(database, query)
    groups = _cut(found, query.offset, len(rows)) if found is not None else None
    if groups is not None and _are(rows, groups):
        return groups
    if query.limit is not None:
        raise UnusableGold("the rows that tie at its LIMIT are not known")
    return tuple(Group((row,), 1) for row in rows)


def _cut(ranks: Sequence[Sequence[Row]], offset: int, length: int) -> tuple[Group, ...] | None:
    """The groups of `length` rows from `offset` on; None if there are not as many."""
    groups, start = list[Group](), 0
    for rows in ranks:
        taken = min(start + len(rows), offset + length) - max(start, offset)
        if taken > 0:
            groups.append(Group(tuple(rows), taken))
        start += len(rows)
    return tuple(groups) if sum(group.taken for group in groups) == length else None


def _are(rows: Sequence[Row], groups: Sequence[Group]) -> bool:
    """True if the gold's own result is one that the groups allow."""
    start = 0
    for group in groups:
        if not same_rows(rows[start : start + group.taken], group.rows):
            return False
        start += group.taken
    return start == len(rows)
