"""The office as an episode sees it: the generated database, and the episode's own changes.

Episodes of one office share a database. A change is applied in its transaction and noted; when another
episode needs the database, the changes are rolled back, and repeated when this one comes back. An episode is
thus held as its few statements, and a reset copies nothing.
"""

import sqlite3
from operator import itemgetter
from typing import Any

from agentgym_envs.assistant.database.changes import NetChange, net_change, takes_back
from agentgym_envs.assistant.database.image import Image, State
from agentgym_envs.assistant.database.texts import Texts
from agentgym_envs.tooluse import CallError

Value = str | int | float | None
NAME = itemgetter(0)
"""The name in a column's description."""
MOST_WRITES = 60
"""Rows that an episode may write."""


class Office:
    """Database of one episode. Rows are dictionaries."""

    __slots__ = ("_image", "state")

    def __init__(self, image: Image, state: State | None = None) -> None:
        self._image = image
        self.state = state or image.pristine
        """The office after the statements of this episode."""

    def rows(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """All rows of a query."""
        cursor = self._connection().execute(sql, values)
        found = cursor.fetchall()
        names = tuple(map(NAME, cursor.description)) if found else ()
        return [dict(zip(names, row, strict=True)) for row in found]

    def row(self, sql: str, *values: Value) -> dict[str, Any] | None:
        """The first row of a query."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def value(self, sql: str, *values: Value) -> Any:
        """The first value of the first row; None if there is no row."""
        found = self._connection().execute(sql, values).fetchone()
        return None if found is None else found[0]

    def rows_with(self, part: str, table: str, columns: tuple[str, ...]) -> list[int] | None:
        """Ids of the only rows in which one of the columns can have this part, so that a query need not read
        the others; None if it has to read all.
        """
        if self.state.statements and self.value("SELECT 1 FROM _log WHERE tbl = ?", table):
            return None
        texts = self._image.texts.get((table, columns))
        if texts is None:  # the table is as it was generated
            rows = self._connection().execute(f"SELECT id, {', '.join(columns)} FROM {table}")
            texts = self._image.texts[table, columns] = Texts(rows)
        return texts.rows_with(part)

    def write(self, sql: str, *values: Value) -> int:
        """Execute a statement that changes rows; returns the id of an inserted row.

        Raises `CallError` of the code `limit` beyond the number of changes of an episode.
        """
        if len(self.state.statements) >= MOST_WRITES:
            raise _beyond()
        cursor = self._connection().execute(sql, values)
        self.state = self._image.held = State((*self.state.statements, (sql, values)))
        written = cursor.lastrowid or 0
        # A deletion may reach rows of other tables.
        if self.value("SELECT count(*) FROM _log") > MOST_WRITES:
            raise _beyond()
        return written

    @property
    def knowledge(self) -> sqlite3.Connection:
        """Read-only database of weather, films and papers."""
        return self._image.knowledge

    def fresh(self) -> "Office":
        """The same office for another episode."""
        return Office(self._image)

    def copy(self) -> "Office":
        """The office with the same changes, for another episode."""
        return Office(self._image, self.state)

    def net_change(self) -> NetChange:
        """The net change of this episode."""
        if self.state.change is None:
            self.state.change = net_change(self._log())
        return self.state.change

    def takes_back(self) -> bool:
        """True if a row that this episode changed has become again what it was before."""
        return takes_back(self._log())

    def _log(self) -> list[tuple[str, str, str | None, str | None]]:
        return self._connection().execute("SELECT tbl, op, old, new FROM _log ORDER BY seq").fetchall()

    def _connection(self) -> sqlite3.Connection:
        """The connection, with the changes of this episode and no others."""
        image = self._image
        if image.held is not self.state and image.held.statements != self.state.statements:
            image.roll_back()
            for sql, values in self.state.statements:
                image.connection.execute(sql, values)
        image.held = self.state
        return image.connection


def _beyond() -> CallError:
    return CallError("limit", f"an episode changes {MOST_WRITES} rows at most")
