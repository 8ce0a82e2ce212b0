"""The office as an episode sees it: the generated database, and the episode's own changes.

Episodes of one office share a database. A change is applied in its transaction and noted; when another
episode needs the database, the changes are rolled back, and repeated when this one comes back. An episode is
thus held as its few statements, and a reset copies nothing.
"""

from collections.abc import Sequence
from typing import Any

from agentgym_envs.assistant.database.image import Image
from agentgym_envs.tooluse import ToolError

Value = str | int | float | None
MOST_WRITES = 60
"""Rows that an episode may write."""


class Office:
    """Database of one episode. Rows are dictionaries."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._changes: list[tuple[str, tuple[Value, ...]]] = []

    def rows(self, sql: str, *values: Value) -> list[dict[str, Any]]:
        """All rows of a query."""
        cursor = self._connection().execute(sql, values)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def row(self, sql: str, *values: Value) -> dict[str, Any] | None:
        """The first row of a query."""
        found = self.rows(sql, *values)
        return found[0] if found else None

    def value(self, sql: str, *values: Value) -> Any:
        """The first value of the first row; None if there is no row."""
        found = self._connection().execute(sql, values).fetchone()
        return None if found is None else found[0]

    def write(self, sql: str, *values: Value) -> int:
        """Execute a statement that changes rows; returns the id of an inserted row.

        Raises `ToolError` beyond the number of changes of an episode.
        """
        if len(self._changes) >= MOST_WRITES:
            raise ToolError(f"limit: an episode changes {MOST_WRITES} rows at most")
        connection = self._connection(changes=True)
        cursor = connection.execute(sql, values)
        self._changes.append((sql, values))
        return cursor.lastrowid or 0

    @property
    def changed(self) -> bool:
        """True if the episode has executed a statement that changes rows."""
        return bool(self._changes)

    @property
    def changes(self) -> Sequence[tuple[str, tuple[Value, ...]]]:
        """The statements that changed rows, in their order."""
        return self._changes

    def fresh(self) -> "Office":
        """The same office for another episode."""
        return Office(self._image)

    def copy(self) -> "Office":
        """The office with the same changes, for another episode."""
        other = Office(self._image)
        other._changes = list(self._changes)
        return other

    def undo_to(self, count: int) -> None:
        """Take back all changes but the first `count`."""
        if len(self._changes) > count:
            del self._changes[count:]
            self._image.roll_back()

    def log(self) -> list[tuple[str, str, str | None, str | None]]:
        """Table, operation, old and new values (JSON arrays) of every changed row, in order."""
        if not self._changes:
            return []
        return self._connection().execute("SELECT tbl, op, old, new FROM _log ORDER BY seq").fetchall()

    def _connection(self, changes: bool = False) -> Any:
        """The connection, with the changes of this episode and no others."""
        image = self._image
        if image.holder is not self and (image.holder is not None or self._changes or changes):
            if image.holder is not None:
                image.roll_back()
            if self._changes or changes:
                image.holder = self
            for sql, values in self._changes:
                image.connection.execute(sql, values)
        return image.connection
