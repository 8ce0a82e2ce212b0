"""Groups: of episodes, the unit of every group baseline, and of anything by a key."""

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

from agentgym_store.records import Trajectory

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT", bound=Hashable)

GROUP = "group"
"""Key in the first turn's `info`: the group that the owner of the episode named."""


def group_of(trajectory: Trajectory) -> str:
    """Named group of the episode, or else the samples of one task in one round of exploration."""
    named = trajectory.turns[0].info.get(GROUP) if trajectory.turns else None
    if isinstance(named, str):
        return f"{trajectory.run}/group {named}/{trajectory.env}"
    return f"{trajectory.run}/{trajectory.iteration}/{trajectory.env}/{trajectory.task_id}"


def by_key(items: Iterable[ItemT], key: Callable[[ItemT], KeyT]) -> dict[KeyT, list[ItemT]]:
    """Items by their key, both in the order of the first of them."""
    found: dict[KeyT, list[ItemT]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def by_task(trajectories: Iterable[Trajectory]) -> dict[tuple[str, str], list[Trajectory]]:
    """Episodes by environment and task."""
    return by_key(trajectories, lambda trajectory: (trajectory.env, trajectory.task_id))
