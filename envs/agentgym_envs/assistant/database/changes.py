"""Net change of an episode, by content: ids of new rows and the order of changes have no meaning.

Reads leave no trace in it; a change that is undone is none; equal numbers are equal, whatever their type.
"""

import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from pydantic_core import from_json

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
            if text is None:
                continue
            values = from_json(text)
            row, key = _row(table, values), (name, _key(table, values))
            first.setdefault(key, row if version == "old" else None)
            last[key] = row if version == "new" else None
    new_rows = {key: row for key, row in last.items() if first[key] is None and row is not None}
    return NetChange(
        {key: (old, last[key]) for key, old in first.items() if old is not None and old != last[key]},
        Counter((name, _content(name, row, new_rows)) for (name, _), row in new_rows.items()),
    )


def takes_back(log: Log) -> bool:
    """True if a row of a log becomes again what it was before."""
    versions = dict[tuple[str, Row], list[Row | None]]()
    for name, _, old_text, new_text in log:
        table = tables()[name]
        both = [None if text is None else from_json(text) for text in (old_text, new_text)]
        old, new = (None if values is None else _row(table, values) for values in both)
        known = both[1] if both[0] is None else both[0]
        if known is None or old == new:
            continue
        seen = versions.setdefault((name, _key(table, known)), [old])
        if new in seen:
            return True
        seen.append(new)
    return False


def _row(table: Table, values: Sequence[Any]) -> Row:
    """The values, normalised."""
    return tuple(
        [
            normal(value) if type(value) is str else _number(value) if type(value) is float else value
            for normal, value in zip(_normals(table.name), values, strict=True)
        ]
    )


def _key(table: Table, values: Sequence[Any]) -> Row:
    """The key as it is: rows whose keys differ by white space are different rows."""
    return tuple(values[position] for position in table.key)


@cache
def _normals(name: str) -> tuple[Callable[[str], str], ...]:
    """For each column of a table, the function that makes a text of it normal."""
    return tuple(
        _minute if (name, column) in TIMES else _folded if (name, column) in CASEFOLD else _text
        for column in tables()[name].columns
    )


def _number(value: float) -> float:
    return int(value) if value.is_integer() else float(f"{value:.9e}")


def _minute(value: str) -> str:
    return value[:16].replace(" ", "T")


def _text(value: str) -> str:
    text = value if value.isascii() else unicodedata.normalize("NFC", value)
    return " ".join(text.split())


def _folded(value: str) -> str:
    return _text(value).casefold()


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
