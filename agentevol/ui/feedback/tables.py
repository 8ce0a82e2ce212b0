"""Tables of feedback, shared by the requests."""

import threading
from collections.abc import Sequence

from agentevol.data.feedback.additions import Added, add_records
from agentevol.ui.kept import Kept
from agentevol.ui.library import Source
from agentevol.ui.tables import location_of
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store

MOST_OPEN = 32


class FeedbackTables:
    """Tables of feedback by source; what was read is kept."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: Kept[FeedbackTable] = Kept(MOST_OPEN)

    def standing(self, source: Source) -> list[Feedback]:
        """Opinions that stand. Raises `NotFound` for a run without a table, and `StoreError`."""
        with self._lock:
            records = self._table(source).records()
        return standing(records)

    def records(self, source: Source) -> list[Feedback]:
        """All records. Raises `NotFound` for a run without a table, and `StoreError`."""
        with self._lock:
            return self._table(source).records()

    def add(self, source: Source, records: Sequence[Feedback], store: Store) -> Added:
        """Add records about episodes of `store`, all or none, each id once.

        Raises `NotFound` for a run without a table, and `StoreError`.
        """
        with self._lock:
            return add_records(records, self._table(source), store)

    def append(self, source: Source, records: Sequence[Feedback]) -> None:
        """Add records. Raises `NotFound` for a run without a table, and `StoreError`."""
        with self._lock:
            self._table(source).append(records)

    def _table(self, source: Source) -> FeedbackTable:
        place = location_of(source)
        return self._open.get(str(place), lambda: FeedbackTable.beside(place))
