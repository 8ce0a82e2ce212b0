"""Runs without processes: their list of tasks, and episodes that answer requests."""

from collections.abc import Callable, Iterable
from typing import Any

from support.trajectories import trajectory

from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask
from agentgym_store.records import Trajectory

TASKS = 16
"""Number of tasks in every split."""
REQUESTED = ("id", "run", "iteration", "purpose", "env", "task_id", "split", "seed", "attempt")
"""Fields that an episode has from its request."""


def list_tasks(
    _url: str, env: str, split: str, _difficulty: Any, choose: Callable[[int], Iterable[int]]
) -> list[EnvTask]:
    """Stands in for `agentevol.loop.state.episodes.list_tasks`."""
    return [
        EnvTask(task_id=f"{split}-{n}", split=split, kind="", difficulty="", instruction="", env=env)
        for n in choose(TASKS)
    ]


def episode_request(**fields: Any) -> EpisodeRequest:
    """Return the request of an explored episode of the guess environment, but for `fields`."""
    plain = {
        "id": "e",
        "run": "r",
        "iteration": 1,
        "purpose": "explore",
        "env": "guess",
        "task_id": "t",
        "split": "train",
        "kind": "",
        "difficulty": "",
        "instruction": "",
        "seed": 0,
        "attempt": 0,
    }
    return EpisodeRequest(**{**plain, **fields})


def requested(request: EpisodeRequest, **fields: Any) -> Trajectory:
    """Return the trajectory that answers a request; `fields` are its own."""
    named = {name: getattr(request, name) for name in REQUESTED}
    return trajectory(**{**named, "initial_observation": "start", **fields})
