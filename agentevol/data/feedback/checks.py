"""Checks of records against the table of trajectories that they are about."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentgym_store.errors import StoreError
from agentgym_store.feedback.records import Comparison, Correction, Feedback
from agentgym_store.store import Store, Where

COLUMNS = ("id", "turn_count", "given_turns", "env", "task_id")


def check_records(records: Sequence[Feedback], store: Store) -> None:
    """Raise `StoreError` for the first record whose episode, other episode or turn is not in the table, that
    compares episodes of two tasks, or corrects a given turn.
    """
    for number, problem in problems(records, store):
        raise StoreError(f"record {number}: {problem}")


def problems(records: Sequence[Feedback], store: Store) -> Iterator[tuple[int, str]]:
    """Number of a record, from 1, and why it fits no episode of the table."""
    names = sorted({name for one in records for name in one.episodes})
    found = {name: told for name, *told in store.rows(COLUMNS, Where(ids=names))}
    for number, one in enumerate(records, 1):
        missing = [name for name in one.episodes if name not in found]
        problem = f"there is no episode {missing[0]!r} in {store.place}" if missing else _problem(one, found)
        if problem:
            yield number, problem


def _problem(one: Feedback, found: Mapping[str, Sequence[Any]]) -> str:
    turns, given, *task = found[one.trajectory_id]
    named = f"episode {one.trajectory_id!r}"
    if one.turn is not None and one.turn >= turns:
        return f"{named} has {turns} turns, numbered from 0, not {one.turn}"
    if isinstance(one.opinion, Correction) and (one.turn or 0) < (given or 0):
        return (
            f"the first {given} turns of {named} were given: what the agent did not choose is not corrected"
        )
    if isinstance(one.opinion, Comparison) and found[one.opinion.other][2:] != task:
        env, task_id = found[one.opinion.other][2:]
        return (
            f"{named} is of task {task[1]!r} of {task[0]}, and {one.opinion.other!r} of {task_id!r} of {env}:"
            " episodes of one task are compared"
        )
    return ""
