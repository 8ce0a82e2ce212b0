"""Subjects of judges' opinions: episodes, their turns, and pairs of episodes of one task.

They are names: the episodes are read when they are asked about.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import combinations

from agentevol.core.errors import ConfigError
from agentevol.data.feedback.rules import why_no_pair
from agentevol.data.judgements.feedback.records import Known, Origin
from agentgym_store.feedback.latest import thing
from agentgym_store.feedback.records import Kind
from agentgym_store.store import Store, Where


@dataclass(frozen=True)
class Subject:
    """Subject of one opinion."""

    ids: tuple[str, ...]
    """The episode, or the two of a pair in the order of their ids."""
    turn: int | None = None
    """Index of a turn, from 0; None for whole episodes."""

    def thing(self, source: str, kind: Kind) -> Hashable:
        """Key of the opinions that replace each other, as `agentgym_store.feedback.latest.thing`."""
        if len(self.ids) == 2:
            return (source, kind, *self.ids)
        return source, kind, self.ids[0], self.turn


def episodes(store: Store, where: Where) -> list[Subject]:
    """The episodes that have a return: others were cut off by a failure."""
    rows = store.rows(("id", "total_reward"), where)
    return [Subject((name,)) for name, reward in rows if reward is not None]


def turns(store: Store, where: Where) -> list[Subject]:
    """The turns that the agents of these episodes chose: given turns are nobody's."""
    rows = store.rows(("id", "total_reward", "turn_count", "given_turns"), where)
    return [
        Subject((name,), turn)
        for name, reward, count, given in rows
        if reward is not None
        for turn in range(given or 0, count)
    ]


def pairs(store: Store, where: Where, per_task: int, seed: int = 0) -> list[Subject]:
    """Up to `per_task` pairs of each task: episodes that began alike and have different actions.

    Which ones is drawn by the seed and the ids, whatever else is in the table.
    """
    tasks: dict[tuple[str, str], list[str]] = {}
    for name, reward, env, task in store.rows(("id", "total_reward", "env", "task_id"), where):
        if reward is not None:
            tasks.setdefault((env, task), []).append(name)
    return [
        pair for _, names in sorted(tasks.items()) for pair in _of_task(store, sorted(names), per_task, seed)
    ]


def check_ids(store: Store, ids: Sequence[str]) -> None:
    """Raise `ConfigError` for an episode that is not in the table."""
    found = {name for (name,) in store.rows(("id",), Where(ids=ids))} if ids else set[str]()
    if missing := [name for name in ids if name not in found]:
        raise ConfigError(f"there is no episode {missing[0]!r} in {store.place}")


def left(subjects: Sequence[Subject], origin: Origin, kind: Kind, known: Known) -> list[Subject]:
    """Subjects that have no opinion of this origin yet."""
    written = known.done | {thing(one) for one in known.again}
    return [one for one in subjects if one.thing(origin.source, kind) not in written]


def _of_task(store: Store, names: Sequence[str], per_task: int, seed: int) -> Iterator[Subject]:
    if len(names) < 2:
        return
    found = {one.id: one for one in store.trajectories(Where(ids=names))}
    drawn = sorted(combinations(names, 2), key=lambda pair: sha256(repr((seed, pair)).encode()).digest())
    fitting = (Subject(pair) for pair in drawn if not why_no_pair(found[pair[0]], found[pair[1]]))
    for _, one in zip(range(per_task), fitting, strict=False):
        yield one
