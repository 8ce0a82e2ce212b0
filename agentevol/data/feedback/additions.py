"""Addition of records to a table of feedback."""

from collections.abc import Sequence
from dataclasses import dataclass

from agentevol.data.feedback.checks import check_records
from agentgym_store.feedback.records import Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store


@dataclass(frozen=True)
class Added:
    """Records that were added, and the number of those whose id was there already."""

    records: list[Feedback]
    known: int


def add_records(records: Sequence[Feedback], table: FeedbackTable, store: Store) -> Added:
    """Add records about episodes of `store`, all or none; those whose id is there already are left out.

    Raises `StoreError` for the first record that fits no episode.
    """
    check_records(records, store)
    known = {one.id for one in table.records()}
    new = list({one.id: one for one in records if one.id not in known}.values())
    table.append(new)
    return Added(new, len(records) - len(new))
