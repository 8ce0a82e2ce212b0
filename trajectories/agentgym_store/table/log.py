"""Entries of the table's log: Parquet files with value ranges of some columns."""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deltalake import DeltaTable
from deltalake.transaction import AddAction

from agentgym_store.arrow import pa
from agentgym_store.table.where import ALL, Where

PRUNED = ("run", "iteration", "purpose", "env", "split", "ending")
"""Columns with value ranges per file, so that queries skip whole files."""


class Log:
    """Parquet files of a version of the table, with their statistics in its log."""

    def __init__(self, table: DeltaTable) -> None:
        actions = pa.table(table.get_add_actions(flatten=True))
        ends = [f"{end}.{column}" for column in PRUNED for end in ("min", "max")]
        self._columns: dict[str, list[Any]] = {
            name: actions.column(name).to_pylist()
            for name in ("path", "size_bytes", *ends)
            if name in actions.column_names
        }

    def files(self, where: Where = ALL) -> list[str]:
        """Names of the files that may hold a match, in order of appending: they begin with the version that
        they made.
        """
        names = set(self._columns["path"])
        for column, values in where.terms():
            if f"min.{column}" in self._columns:
                names -= set(self._without(column, values))
        return sorted(names)

    def sizes(self) -> dict[str, int]:
        """Bytes of each file, in order of appending."""
        return dict(sorted(zip(self._columns["path"], self._columns["size_bytes"], strict=True)))

    def _without(self, column: str, values: Sequence[Any]) -> Iterator[str]:
        """Files in which no row has any of these values; some files may have no statistics."""
        ranges = (self._columns[name] for name in ("path", f"min.{column}", f"max.{column}"))
        for path, low, high in zip(*ranges, strict=True):
            if low is not None and high is not None and not any(low <= value <= high for value in values):
                yield path


def add_action(
    file: str, size: int, episodes: int, ranges: Mapping[str, tuple[Any, Any]], *, data_change: bool = True
) -> AddAction:
    """The log's entry for a file of `size` bytes; `ranges` holds the least and the greatest value of each
    column of `PRUNED`. `data_change` False: its episodes were in the table before, in other files.
    """
    stats = {
        "numRecords": episodes,
        "minValues": {name: least for name, (least, _) in ranges.items()},
        "maxValues": {name: greatest for name, (_, greatest) in ranges.items()},
        "nullCount": dict.fromkeys(ranges, 0),
    }
    return AddAction(file, size, {}, int(time.time() * 1000), data_change, json.dumps(stats))
