"""Checks of records against the table of trajectories that they are about."""

from collections.abc import Iterator, Sequence

from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import Feedback
from agentgym_store.store import Store, Where


def check_records(records: Sequence[Feedback], store: Store) -> None:
    """Raise `StoreError` for the first record whose episode, other episode or turn is not in the table."""
    for number, problem in problems(records, store):
        raise StoreError(f"record {number}: {problem}")


def problems(records: Sequence[Feedback], store: Store) -> Iterator[tuple[int, str]]:
    """Number of a record, from 1, and why it fits no episode of the table."""
    names = sorted({name for one in records for name in one.episodes})
    turns = dict(store.rows(("id", "turn_count"), Where(ids=names)))
    for number, one in enumerate(records, 1):
        missing = [name for name in one.episodes if name not in turns]
        if missing:
            yield number, f"there is no episode {missing[0]!r} in {store.place}"
        elif one.turn is not None and one.turn >= turns[one.trajectory_id]:
            count = turns[one.trajectory_id]
            yield number, f"episode {one.trajectory_id!r} has {count} turns, numbered from 0, not {one.turn}"
