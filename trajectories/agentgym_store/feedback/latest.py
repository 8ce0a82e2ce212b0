"""Opinions that stand: a later one of the same source on the same thing replaces an earlier one.

Nothing is overwritten in the table. The thing is the trajectory, the turn and the kind of opinion, and for a
comparison the pair of episodes, in either order. A withdrawal replaces as well, by nothing.
"""

from collections.abc import Hashable, Iterable

from agentgym_store.feedback.records import Comparison, Feedback


def thing(record: Feedback) -> Hashable:
    """The source and what its opinion is about."""
    if isinstance(record.opinion, Comparison):
        first, second = sorted((record.trajectory_id, record.opinion.other))
        return record.source, record.kind, first, second
    return record.source, record.kind, record.trajectory_id, record.turn


def standing(records: Iterable[Feedback]) -> list[Feedback]:
    """Those that are neither replaced nor withdrawn, by their time; of equal times, in the order given.

    `records` are in the order of appending, of which the last is the latest among equal times.
    """
    return [record for record in latest(records) if not record.withdrawn]


def latest(records: Iterable[Feedback]) -> list[Feedback]:
    """The latest record on each thing, withdrawals too, in the order of `standing`."""
    found: dict[Hashable, Feedback] = {}
    for record in sorted(records, key=lambda record: record.created_at):
        found.pop(thing(record), None)  # its place is that of the latest
        found[thing(record)] = record
    return list(found.values())
