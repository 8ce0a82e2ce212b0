"""Net change of an episode, by content: ids of new rows and the order of changes have no meaning.

Reads leave no trace in it; a change that is undone is none; equal numbers are equal, whatever their type.
"""

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from agentgym_envs.assistant.database.schema import CASEFOLD, TIMES, Table, tables

Row = tuple[Any, ...]
Log = Sequence[tuple[str, str, str | None, str | None]]
DEPTH = 4
"""References from new rows to new rows that are followed."""


class NetChange(NamedTuple):
    """Rows that differ between the beginning and now, normalised."""

    changed: Mapping[tuple[str, Row], tuple[Row, Row | None]]
    """Table and key to the old and the new row; None for a deleted one."""
    inserted: Counter[tuple[str, Row]]
    """Table and content of new rows, without the ids of their own and of other new rows."""

    def __bool__(self) -> bool:
        return bool(self.changed or self.inserted)


NOTHING = NetChange({}, Counter())


def net_change(log: Log) -> NetChange:
    """The net change of a log."""
    if not log:
        return NOTHING
    first, last = dict[tuple[str, Row], Row | None](), dict[tuple[str, Row], Row | None]()
    for name, _, old_text, new_text in log:
        table = tables()[name]
        for version, text in (("old", old_text), ("new", new_text)):
            row = _row(table, text)
            if row is None:
                continue
            key = (name, _key(table, row))
            first.setdefault(key, row if version == "old" else None)
            last[key] = row if version == "new" else None
    new_rows = {key: row for key, row in last.items() if first[key] is None and row is not None}
    return NetChange(
        {key: (old, last[key]) for key, old in first.items() if old is not None and old != last[key]},
        Counter((name, _content(name, row, new_rows)) for (name, _), row in new_rows.items()),
    )


def _row(table: Table, text: str | None) -> Row | None:
    if text is None:
        return None
    return tuple(
        _normal(table.name, column, value)
        for column, value in zip(table.columns, json.loads(text), strict=True)
    )


def _key(table: Table, row: Row) -> Row:
    return tuple(row[position] for position in table.key)


def _normal(table: str, column: str, value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(f"{value:.9e}")
    if not isinstance(value, str):
        return value
    if (table, column) in TIMES:
        return value[:16].replace(" ", "T")
    text = value if value.isascii() else unicodedata.normalize("NFC", value)
    text = " ".join(text.split())
    return text.casefold() if (table, column) in CASEFOLD else text


def _content(name: str, row: Row, new: Mapping[tuple[str, Row], Row], depth: int = 0) -> Row:
    """The row without its id, and with the content of new rows in place of their ids."""
    table = tables()[name]
    return tuple(
        _content(target, new[target, (value,)], new, depth + 1)
        if (target := table.references.get(position)) and (target, (value,)) in new and depth < DEPTH
        else value
        for position, value in enumerate(row)
        if not (table.surrogate and position == 0)
    )
