"""Builders of stored episodes."""

from collections.abc import Iterable
from typing import Any

from agentgym_store.records import Terminated, Trajectory, Turn


def trajectory(**fields: Any) -> Trajectory:
    """Return a validated trajectory: an explored episode without turns that terminated, but for `fields`."""
    plain = {
        "run": "r",
        "iteration": 1,
        "purpose": "explore",
        "env": "guess",
        "env_version": "1",
        "data_version": "1",
        "task_id": "t",
        "split": "train",
        "instruction": "",
        "seed": 0,
        "attempt": 0,
        "policy": "p",
        "initial_observation": "",
        "turns": (),
        "ending": Terminated(),
        "started_at": "2026-01-01T00:00:00Z",
        "wall_s": 0.0,
    }
    return Trajectory(**{**plain, **fields})


def without_times(turns: Iterable[Turn]) -> list[Turn]:
    """Turns as two plays of one episode have in common."""
    return [turn.model_copy(update={"policy_s": None, "environment_s": None}) for turn in turns]
