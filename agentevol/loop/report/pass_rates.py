"""pass^k of repeated episodes: the probability that k of them all succeed (tau-bench, arXiv:2406.12045)."""

from collections.abc import Iterable, Mapping
from math import comb

from agentgym_store.records import Trajectory


def pass_hat(outcomes: Mapping[str, tuple[int, int]], k: int) -> float | None:
    """pass^k, the mean over tasks of C(c, k) / C(n, k), of (successes c, episodes n) by task.

    Tasks with fewer than k episodes are left out; None if that leaves none. Raises `ValueError` for k < 1.
    """
    if k < 1:
        raise ValueError(f"pass^k needs a k of at least 1, not {k}")
    rates = [comb(c, k) / comb(n, k) for c, n in outcomes.values() if n >= k]
    return sum(rates) / len(rates) if rates else None


def outcomes_of(trajectories: Iterable[Trajectory]) -> dict[str, tuple[int, int]]:
    """(successes, episodes) by task, of the episodes that have a return."""
    found: dict[str, tuple[int, int]] = {}
    for trajectory in trajectories:
        if trajectory.total_reward is not None:
            successes, episodes = found.get(trajectory.task_id, (0, 0))
            found[trajectory.task_id] = (successes + trajectory.succeeded(), episodes + 1)
    return found


def pass_rates(trajectories: Iterable[Trajectory], repeats: int) -> dict[str, float]:
    """`{"pass^1": ..., "pass^2": ...}` up to `repeats` episodes of a task."""
    outcomes = outcomes_of(trajectories)
    rates = {f"pass^{k}": pass_hat(outcomes, k) for k in range(1, repeats + 1)}
    return {name: rate for name, rate in rates.items() if rate is not None}
