"""Scores that the last step of an episode tells in its `info`.

    {"dimensions": {"goal": 7.5, "secret": None}, "overall_score": None, "scenario": "01H7...",
     "end_reasons": ["deal"]}

A dimension that is None was not scored; it counts for no mean, and is not 0.
"""

import math
from collections.abc import Mapping
from typing import cast

from agentgym_store.records import Trajectory

OVERALL = "overall"
"""Name of the overall score beside those of the dimensions."""

Scores = Mapping[str, float | None]


def last_info(trajectory: Trajectory) -> Mapping[str, object]:
    """Info of the last step; empty without a step."""
    return trajectory.turns[-1].info if trajectory.turns else {}


def scores_of(trajectory: Trajectory) -> dict[str, float | None] | None:
    """Score by dimension and, under `OVERALL`, overall; None where the episode has no return, or its last
    step tells no dimensions.
    """
    info = last_info(trajectory)
    told = info.get("dimensions")
    if trajectory.total_reward is None or not isinstance(told, dict):
        return None
    dimensions = cast("Mapping[object, object]", told)
    scores = {str(name): _number(score) for name, score in dimensions.items() if name != "overall_score"}
    return {**scores, OVERALL: _number(info.get("overall_score"))}


def cluster_of(trajectory: Trajectory) -> str:
    """The scenario of the episode, which several tasks may share; its task where none is told."""
    return str(last_info(trajectory).get("scenario") or trajectory.task_id)


def end_reasons_of(trajectory: Trajectory) -> list[str]:
    """The reasons for the end that the environment tells; several may hold."""
    told = last_info(trajectory).get("end_reasons")
    return [str(reason) for reason in cast("list[object]", told)] if isinstance(told, list) else []


def _number(value: object) -> float | None:
    """A finite number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None
