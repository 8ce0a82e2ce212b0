"""pass^k of repeated episodes: the probability that k of them all succeed (tau-bench, arXiv:2406.12045)."""

from collections.abc import Iterable, Mapping
from math import comb
from statistics import fmean
from typing import NamedTuple

from agentevol.loop.report.intervals import bootstrap_mean
from agentgym_store.records import Trajectory


class PassRate(NamedTuple):
    """pass^k with its interval of 95 %, a bootstrap over tasks: repeats of a task are not independent."""

    rate: float
    low: float
    high: float


def pass_hat(outcomes: Mapping[str, tuple[int, int]], k: int) -> float | None:
    """pass^k, the mean over tasks of C(c, k) / C(n, k), of (successes c, episodes n) by task.

    Tasks with fewer than k episodes are left out; None if that leaves none. Raises `ValueError` for k < 1.
    """
    rates = _rates(outcomes, k)
    return fmean(rates) if rates else None


def outcomes_of(trajectories: Iterable[Trajectory]) -> dict[str, tuple[int, int]]:
    """(successes, episodes) by task, of the episodes that have a return."""
    found: dict[str, tuple[int, int]] = {}
    for trajectory in trajectories:
        if trajectory.total_reward is not None:
            successes, episodes = found.get(trajectory.task_id, (0, 0))
            found[trajectory.task_id] = (successes + trajectory.succeeded(), episodes + 1)
    return found


def pass_rates(trajectories: Iterable[Trajectory], repeats: int, seed: int = 0) -> dict[str, PassRate]:
    """`{"pass^1": ..., "pass^2": ...}` up to `repeats` episodes of a task; `seed` is the bootstrap's."""
    outcomes = outcomes_of(trajectories)
    rates = {f"pass^{k}": _rates(outcomes, k) for k in range(1, repeats + 1)}
    return {
        name: PassRate(fmean(found), *bootstrap_mean(found, seed)) for name, found in rates.items() if found
    }


def _rates(outcomes: Mapping[str, tuple[int, int]], k: int) -> list[float]:
    """The chance of each task that k of its episodes all succeed."""
    if k < 1:
        raise ValueError(f"pass^k needs a k of at least 1, not {k}")
    return [comb(c, k) / comb(n, k) for c, n in outcomes.values() if n >= k]
