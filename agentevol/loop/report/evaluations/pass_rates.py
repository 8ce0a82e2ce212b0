"""Success of repeated episodes: pass^k, the probability that k episodes of a task all succeed (tau-bench,
arXiv:2406.12045), and pass@k, the probability that at least one of k succeeds (arXiv:2107.03374).

A task of which 3 of 4 episodes succeed has pass^2 = C(3, 2) / C(4, 2) = 1/2 and, as 1 failed,
pass@2 = 1 - C(1, 2) / C(4, 2) = 1. Both are unbiased for a task; their means over tasks are reported.
"""

from collections.abc import Iterable, Sequence
from math import comb
from typing import NamedTuple

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.evaluations.proportions import clustered_proportion
from agentevol.loop.report.evaluations.records import EvaluationRecord


class Outcomes(NamedTuple):
    """Episodes of a task in one seat that have a return."""

    successes: int
    episodes: int
    cluster: str = ""
    """Scenario of the task."""


def pass_hat(task: Outcomes, k: int) -> float:
    """pass^k of a task: C(c, k) / C(n, k). Raises `ValueError` unless 1 <= k <= n."""
    _check(task, k)
    return comb(task.successes, k) / comb(task.episodes, k)


def pass_at(task: Outcomes, k: int) -> float:
    """pass@k of a task: 1 - C(n - c, k) / C(n, k). Raises `ValueError` unless 1 <= k <= n."""
    _check(task, k)
    return 1 - comb(task.episodes - task.successes, k) / comb(task.episodes, k)


RATES = {"pass^": pass_hat, "pass@": pass_at}


def outcomes_of(records: Iterable[EvaluationRecord]) -> list[Outcomes]:
    """Outcomes of the policy by task and seat. Failed episodes are no attempts."""
    found: dict[tuple[str, int | None], Outcomes] = {}
    for one in records:
        if one.role == "policy" and one.reward is not None:
            before = found.get((one.task, one.seat), Outcomes(0, 0))
            found[one.task, one.seat] = Outcomes(
                before.successes + one.succeeded, before.episodes + 1, one.scenario
            )
    return list(found.values())


def pass_rates(tasks: Sequence[Outcomes]) -> dict[str, MeanScore]:
    """`{"pass^1": ..., "pass^2": ..., "pass@1": ..., "pass@2": ...}` up to the most episodes of a task; {} if
    no task was repeated.

    Tasks with fewer than k episodes are left out of the mean of k, and `n` is the number of the others.
    Intervals are over the clusters of tasks: repeats of a task are not independent.
    """
    most = max((task.episodes for task in tasks), default=0)
    if most < 2:
        return {}
    found: dict[str, MeanScore] = {}
    for name, rate in RATES.items():
        for k in range(1, most + 1):
            known = [task for task in tasks if task.episodes >= k]
            rates = [rate(task, k) for task in known]
            found[f"{name}{k}"] = clustered_proportion(rates, [task.cluster for task in known])
    return found


def _check(task: Outcomes, k: int) -> None:
    if not 1 <= k <= task.episodes:
        raise ValueError(f"k is from 1 to the {task.episodes} episodes of the task, not {k}")
