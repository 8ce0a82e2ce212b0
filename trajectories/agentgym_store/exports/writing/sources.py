"""Source of an export: the selected episodes of one version of a table, in order, from any position."""

from collections.abc import Iterator
from hashlib import sha256
from itertools import islice
from typing import Any, NamedTuple

from agentgym_store.exports.writing.selection import Selection
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch
from agentgym_store.store import Store


class Position(NamedTuple):
    """Place in a source: that many files of the table, and batches of the next one, have been read."""

    files: int = 0
    batches: int = 0


class Source:
    """Selected episodes of a table's version. Files of a version do not change, so positions stay valid."""

    def __init__(self, store: Store, selection: Selection | None = None, version: int | None = None) -> None:
        self.selection = selection or Selection()
        self.version = store.version() if version is None else version
        self._store = store
        (self._files,) = store.files(self.selection.where, version=self.version)

    @property
    def digest(self) -> str:
        """Hash of the names of the files: equal digests are of equal episodes."""
        return "sha256:" + sha256("\n".join(self._files).encode()).hexdigest()

    @property
    def place(self) -> str:
        """Location of the table."""
        return self._store.place.name

    def turns(self) -> int:
        """Number of turns of the episodes that `where` finds."""
        rows = self._store.rows(("turn_count",), self.selection.where, version=self.version)
        return sum(count for (count,) in rows)

    def batches(self, start: Position = Position()) -> Iterator[tuple[Any, Position]]:  # noqa: B008 - a constant
        """Rows as `pyarrow.RecordBatch`, each with the position after it; `Selection.of` is not applied."""
        done = start.batches
        for number in range(start.files, len(self._files)):
            batches = self._store.batches(self._files[number], self.selection.where)
            for place, batch in enumerate(islice(batches, done, None), start=done + 1):
                yield batch, Position(number, place)
            done = 0

    def episodes(self, batch: Any, *, contexts: bool) -> list[Trajectory]:
        """The selected episodes of a batch."""
        return list(self.selection.of(from_batch(batch, contexts=contexts)))
