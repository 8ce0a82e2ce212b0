"""Groups: of episodes, the unit of every group baseline, and of anything by a key."""

from collections.abc import Callable, Hashable, Iterable
from hashlib import sha256
from typing import TypeVar

from agentgym_store.records import Trajectory

ItemT = TypeVar("ItemT")
KeyT = TypeVar("KeyT", bound=Hashable)

TaskKey = tuple[str, str]
"""Environment, and id of a task in it."""
GROUP = "group"
"""Key in the first turn's `info`: the group that the owner of the episode named."""


def group_of(trajectory: Trajectory) -> str:
    """Named group of the episode, or else the samples of one task and seat in one round of exploration."""
    named = trajectory.turns[0].info.get(GROUP) if trajectory.turns else None
    if isinstance(named, str):
        return f"{trajectory.run}/group {named}/{trajectory.env}"
    return f"{trajectory.run}/{trajectory.iteration}/{trajectory.env}/{start_of(trajectory)}"


def start_of(trajectory: Trajectory) -> str:
    """Name of the state in which the policy began: the task, with its seat where there are several, and with
    its first observation in episodes that continue another one.

    Returns of different seats are not compared: the first to act may have an advantage.
    """
    seat = "" if trajectory.episode_id is None else f" seat {trajectory.seat}"
    if trajectory.parent is None:
        return trajectory.task_id + seat
    state = sha256(trajectory.initial_observation.encode()).hexdigest()[:16]
    return f"{trajectory.task_id}{seat} from {state}"


def task_of(trajectory: Trajectory) -> TaskKey:
    """Environment and task: in a mixed run, ids of tasks alone are not unique."""
    return trajectory.env, trajectory.task_id


def own_part(trajectory: Trajectory) -> Trajectory:
    """The episode from the state in which its policy began to act, as it is trained on.

    Given turns are nobody's: their tokens are context, within the prompts of the later ones, and their
    rewards and costs count for nothing. An episode of given turns alone has no turns then.
    """
    given = trajectory.given_turns
    if not given:
        return trajectory
    return trajectory.model_copy(
        update={
            "turns": trajectory.turns[given:],
            "given_turns": 0,
            "initial_observation": trajectory.turns[given - 1].observation,
            "parent": trajectory.parent or trajectory.id,
        }
    )


def by_key(items: Iterable[ItemT], key: Callable[[ItemT], KeyT]) -> dict[KeyT, list[ItemT]]:
    """Items by their key, both in the order of the first of them."""
    found: dict[KeyT, list[ItemT]] = {}
    for item in items:
        found.setdefault(key(item), []).append(item)
    return found


def by_task(trajectories: Iterable[Trajectory]) -> dict[tuple[str, str], list[Trajectory]]:
    """Episodes by environment and task, and by seat where there are several."""
    return by_key(trajectories, lambda trajectory: (trajectory.env, start_of(trajectory)))
