"""Ranking of members by the validation tasks that all of them played."""

from collections.abc import Mapping, Sequence
from statistics import fmean, stdev

from agentevol.core.errors import RunStopped
from agentgym_envs.core import Record

Scores = Mapping[str, float]
"""Task -> success or return of its validation episodes."""


class Standing(Record):
    """Result of one member on the tasks that all have scored."""

    member: str
    """Name of its run."""
    mean: float
    behind: float
    """Mean difference of the best one and this one, task by task."""
    error: float | None = None
    """Standard error of this paired difference; None for fewer than two tasks."""
    tasks: int


def ranked(scores: Mapping[str, Scores]) -> list[Standing]:
    """Members, best first; among equals in the order of their names. Raises `RunStopped` where no task has a
    score of all.
    """
    shared = sorted(set[str].intersection(*(set(own) for own in scores.values())))
    if not shared:
        raise RunStopped("members cannot be compared: no validation task was scored by all of them")
    means = {name: fmean(own[task] for task in shared) for name, own in scores.items()}
    order = sorted(means, key=lambda name: (-means[name], name))
    best = scores[order[0]]
    return [
        _standing(name, means[name], [best[task] - scores[name][task] for task in shared]) for name in order
    ]


def _standing(name: str, mean: float, gaps: Sequence[float]) -> Standing:
    error = stdev(gaps) / len(gaps) ** 0.5 if len(gaps) > 1 else None
    return Standing(member=name, mean=mean, behind=fmean(gaps), error=error, tasks=len(gaps))
