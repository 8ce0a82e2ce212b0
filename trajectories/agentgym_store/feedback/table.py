"""`FeedbackTable`: an append-only Delta Lake table of opinions, beside a table of trajectories.

    table = FeedbackTable.beside("runs/first/trajectories")
    table.append([feedback({"trajectory_id": "a", "source": "human:Anna", "opinion": {...}})])
    standing(table.records())

As in the table of trajectories, an append is one entry of the log: readers see all of it, or nothing. Each
click is a small file; `MOST_SMALL` of them become one, by the compaction of the table of trajectories.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from uuid import uuid4

from deltalake import DeltaTable, Schema

from agentgym_store.arrow import FORMAT_KEY, pa, parquet
from agentgym_store.errors import StoreError
from agentgym_store.feedback.location import feedback_of
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.rows import (
    FEEDBACK_FORMAT,
    FEEDBACK_SCHEMA,
    OLDER_FEEDBACK,
    from_table,
    to_table,
)
from agentgym_store.location import Place
from agentgym_store.table.commits import committed
from agentgym_store.table.compaction import Compaction, Layout, compact
from agentgym_store.table.errors import one_error
from agentgym_store.table.formats import create_table, renew_format
from agentgym_store.table.log import Log, add_action

MOST_SMALL = 64
"""Files that an append leaves: with as many, they are put together."""


def _prepare(table: DeltaTable, place: Place) -> None:
    check(table, place)
    renew_format(table, FEEDBACK_SCHEMA, FEEDBACK_FORMAT)


LAYOUT = Layout("feedback", FEEDBACK_SCHEMA, (), _prepare)


class FeedbackTable:
    """Table of feedback. Several processes may append, and any number may read. It comes into being with the
    first append.
    """

    def __init__(self, path: Path | str) -> None:
        """The table in this folder or at this URL, which need not exist yet. Raises `StoreError`."""
        self.place = Place.of(path)
        self._table: DeltaTable | None = None
        self._known: dict[str, list[Feedback]] = {}

    @classmethod
    def beside(cls, trajectories: Path | str) -> "FeedbackTable":
        """The feedback on a table of trajectories, named by its folder or URL."""
        return cls(feedback_of(trajectories))

    def append(self, records: Sequence[Feedback]) -> None:
        """Add records, all or none. Raises `StoreError`."""
        if not records:
            return
        with self._errors("write"):
            table = self._opened() or self._created()
            table.update_incremental()
            renew_format(table, FEEDBACK_SCHEMA, FEEDBACK_FORMAT)
            file = f"{table.version() + 1:020d}-{uuid4().hex}.parquet"
            try:
                self._write(table, records, file)
            except BaseException:
                # a file in the log is in use, whatever was raised
                if file not in Log(_newest(table)).files():
                    self.place.remove(file)
                raise
            files = len(Log(_newest(table)).files())
        if files >= MOST_SMALL:
            with suppress(StoreError):  # the records are there; the next append tries again
                self.compact()

    def compact(self) -> Compaction:
        """Put small files together, as `agentgym_store.table.compaction.compact`; nothing where there is no
        table. Raises `StoreError`.
        """
        if not self.place.holds_table():
            return Compaction(0, 0, 0, 0)
        return compact(self.place, layout=LAYOUT)

    def records(self) -> list[Feedback]:
        """All records, in order of appending; none where nobody has said anything. Raises `StoreError`.

        Files are immutable: those that were read before are not read again.
        """
        with self._errors("read"):
            table = self._opened()
            files = [] if table is None else Log(_newest(table)).files()
            known = {file: self._known[file] if file in self._known else self._read(file) for file in files}
        self._known = known
        return [record for file in files for record in known[file]]

    def _read(self, file: str) -> list[Feedback]:
        with self.place.files.open_input_file(file) as source:
            # arrow's threads may outlive a short command, and abort it (apache/arrow#34314)
            return from_table(parquet.read_table(source, use_threads=False, pre_buffer=False))

    def _write(self, table: DeltaTable, records: Sequence[Feedback], file: str) -> None:
        parquet.write_table(to_table(records), file, filesystem=self.place.files, compression="zstd")
        action = add_action(file, self.place.size(file), len(records), {})
        schema = Schema.from_arrow(FEEDBACK_SCHEMA)
        committed(table, lambda: table.create_write_transaction([action], "append", schema))

    def _opened(self) -> DeltaTable | None:
        if self._table is None and self.place.holds_table():
            table = DeltaTable(self.place.name)
            check(table, self.place)
            self._table = table
        return self._table

    def _created(self) -> DeltaTable:
        # a log without entries remains of a process that was killed while it created the table
        if set(self.place.names()) - {"_delta_log"} and not self.place.holds_table():
            raise StoreError(f"{self.place} is not a table of feedback; move it away")
        description = "Opinions about episodes of the table of trajectories beside it."
        self._table = create_table(self.place, FEEDBACK_SCHEMA, "feedback", description, FEEDBACK_FORMAT)
        check(self._table, self.place)
        return self._table

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return one_error(f"cannot {doing} the table of feedback {self.place}")


def check(table: DeltaTable, place: Place) -> None:
    """Raise `StoreError` for a table of another format."""
    found = table.metadata().configuration.get(FORMAT_KEY)
    columns = frozenset(field.name for field in pa.schema(table.schema().to_arrow()))
    newest = frozenset(FEEDBACK_SCHEMA.names)
    # a process that was killed while it renewed an older table leaves the new columns under the old name
    known = {(name, wanted) for name, older in OLDER_FEEDBACK.items() for wanted in (older, newest)}
    if (found, columns) not in known | {(FEEDBACK_FORMAT, newest)}:
        raise StoreError(f"{place} is a Delta table of format {found!r}, not {FEEDBACK_FORMAT!r}")


def _newest(table: DeltaTable) -> DeltaTable:
    """The same table, at its newest version."""
    table.update_incremental()
    return table
