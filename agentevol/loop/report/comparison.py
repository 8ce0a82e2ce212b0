"""Paired comparison of runs by task: every run's best checkpoint against its own start, and against other
runs'.

All differences are paired: both policies played the same held-out tasks.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import polars as pl

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import IterationSummary, RunSummary, best
from agentevol.data.stored_episodes import open_table, table_of
from agentevol.loop.report.hypothesis_tests import sign_test
from agentevol.loop.report.intervals import bootstrap_mean, mean_interval
from agentevol.loop.report.strengths import Strength, ranked
from agentgym_store.store import Store, Where

Outcomes = Mapping[str, bool]
"""Environment and task id (with the seat, where the policy played several) -> whether it was won."""
Returns = Mapping[str, float]
"""Task id, as in `Outcomes` -> return."""
Labels = Mapping[str, Mapping[str, str]]
"""Property of tasks (`env`, `kind`, `difficulty`) -> task id -> value; no value where a task has none."""
ALL = "all"
"""Name of all tasks together, beside those of one value."""
PROPERTIES = ("env", "kind", "difficulty")
LEFT_OUT = ("name", "seed", "table", "metrics")
"""Settings in which runs may differ that repeat one experiment."""
TASK = (
    pl.when(pl.col("episode_id").is_null())
    .then(pl.format("{}/{}", "env", "task_id"))
    .otherwise(pl.format("{}/{} seat {}", "env", "task_id", "seat"))
    .alias("task_id")
)


@dataclass(frozen=True)
class Difference:
    """Difference of two policies on the tasks that both played."""

    n: int
    won: int
    """Number of tasks that only the second policy won."""
    lost: int
    """Number of tasks that only the first policy won."""
    interval: tuple[float, float]
    """Interval of the difference in success rates: 95 % bootstrap over tasks."""

    @property
    def gain(self) -> float:
        """Success rate of the second policy minus that of the first."""
        return (self.won - self.lost) / self.n

    @property
    def p(self) -> float:
        """Two-sided exact sign test of equal success."""
        return sign_test(self.won, self.lost)


@dataclass(frozen=True)
class MeanDifference:
    """Difference of two policies' mean returns on the tasks that both played."""

    n: int
    first: float
    second: float
    interval: tuple[float, float]
    """Interval of the difference: 95 % bootstrap over tasks."""

    @property
    def gain(self) -> float:
        """Mean return of the second policy minus that of the first."""
        return self.second - self.first


@dataclass(frozen=True)
class Evolved:
    """A run's start and best checkpoint on its held-out split."""

    name: str
    seed: int
    settings: Mapping[str, object]
    """Configuration without `LEFT_OUT`."""
    split: str
    iteration: int
    """Iteration of the best checkpoint, chosen on the validation tasks."""
    start: Outcomes
    best: Outcomes
    start_returns: Returns = field(default_factory=dict[str, float])
    best_returns: Returns = field(default_factory=dict[str, float])
    labels: Labels = field(default_factory=dict[str, Mapping[str, str]])

    @property
    def is_graded(self) -> bool:
        """Whether a return lies between losing and winning."""
        return any(0 < one < 1 for one in (*self.start_returns.values(), *self.best_returns.values()))


def evolved(folder: Path, summary: RunSummary) -> Evolved:
    """Outcomes of a run from its table. Raises `ConfigError` where nothing was evaluated."""
    evaluated = [one for one in summary.iterations if one.evaluation is not None]
    leader = best(summary)
    if not evaluated or leader is None or leader.evaluation is None:
        raise ConfigError(f"{folder} has nothing evaluated yet")
    split = leader.evaluation.split
    rows = (
        open_table(folder)
        .scan(Where(run=summary.run, purpose="evaluate", split=leader.evaluation.splits))
        .select("iteration", TASK, "succeeded", "total_reward", *PROPERTIES)
        .filter(pl.col("total_reward").is_not_null())
        .collect()
    )
    settings = {key: value for key, value in summary.config.items() if key not in LEFT_OUT}
    return Evolved(
        str(folder),
        int(summary.config["seed"]),
        settings,
        split,
        leader.iteration,
        _outcomes(rows, evaluated[0]),
        _outcomes(rows, leader),
        _returns(rows, evaluated[0]),
        _returns(rows, leader),
        {name: _labels(rows, name) for name in PROPERTIES},
    )


def checkpoint_strengths(folder: Path, summary: RunSummary) -> list[Strength]:
    """Bradley-Terry strengths of a run's checkpoints on the held-out tasks that all of them played, strongest
    first; none for fewer than two. Raises `StoreError`.
    """
    table = table_of(folder)
    evaluated = [one for one in summary.iterations if one.evaluation is not None]
    if len(evaluated) < 2 or table is None:
        return []
    split = evaluated[0].evaluation.splits if evaluated[0].evaluation else None
    rows = (
        Store.open(table, create=False)
        .scan(Where(run=summary.run, purpose="evaluate", split=split))
        .select("iteration", TASK, "total_reward")
        .filter(pl.col("total_reward").is_not_null())
        .collect()
    )
    scores = {f"iteration {one.iteration}": _returns(rows, one) for one in evaluated}
    shared = set.intersection(*(set(by_task) for by_task in scores.values()))
    return ranked(scores, seed=0) if shared else []


def run_strengths(runs: Sequence[Evolved]) -> list[Strength]:
    """Strengths of every run's start and best on the tasks that all played; none where they share no task.

    Starts with the same outcomes on the same tasks are named once, by the first run.
    """
    scores: dict[str, dict[str, float]] = {}
    for run in runs:
        for what, outcomes in (("start", run.start), ("best", run.best)):
            won = {task: float(one) for task, one in outcomes.items()}
            if what == "best" or won not in scores.values():
                scores[f"{run.name} {what}"] = won
    shared = set.intersection(*(set(by_task) for by_task in scores.values()))
    return ranked(scores, seed=0) if shared and len(scores) > 1 else []


def difference(first: Outcomes, second: Outcomes) -> Difference:
    """The second policy against the first. Raises `ConfigError` where they share no task."""
    shared = sorted(first.keys() & second.keys())
    if not shared:
        raise ConfigError("nothing to compare: no task was played by both")
    changes = [second[task] - first[task] for task in shared]
    return Difference(len(shared), changes.count(1), changes.count(-1), bootstrap_mean(changes, seed=0))


def mean_difference(first: Returns, second: Returns, tasks: Collection[str] | None = None) -> MeanDifference:
    """The mean return of the second policy against that of the first, on `tasks` or on all. Raises
    `ConfigError` where they share none.
    """
    shared = sorted(first.keys() & second.keys() & (first.keys() if tasks is None else set(tasks)))
    if not shared:
        raise ConfigError("nothing to compare: no task was played by both")
    changes = [second[task] - first[task] for task in shared]
    return MeanDifference(
        len(shared),
        fmean(first[task] for task in shared),
        fmean(second[task] for task in shared),
        bootstrap_mean(changes, seed=0),
    )


def mean_differences(run: Evolved, by: str | None) -> dict[str, MeanDifference]:
    """Start against best by mean return: of all tasks (`all`), and for each value of a property of them."""
    start, best = run.start_returns, run.best_returns
    groups: dict[str, list[str]] = {}
    for task, value in (run.labels[by] if by is not None else {}).items():
        if task in start and task in best:
            groups.setdefault(value, []).append(task)
    found = {value: mean_difference(start, best, tasks) for value, tasks in sorted(groups.items())}
    return {ALL: mean_difference(start, best), **found}


def differ_in_seed_alone(runs: Sequence[Evolved]) -> bool:
    """Return whether the runs repeat one experiment with different seeds."""
    seeds = {run.seed for run in runs}
    return len(seeds) == len(runs) > 1 and all(run.settings == runs[0].settings for run in runs)


def mean_gain(gains: Sequence[float]) -> tuple[float, tuple[float, float]]:
    """Mean over runs, and its Student's 95 % interval, which includes the variation over seeds."""
    return fmean(gains), mean_interval(gains)


def _returns(rows: pl.DataFrame, iteration: IterationSummary) -> dict[str, float]:
    chosen = rows.filter(pl.col("iteration") == iteration.iteration)
    return dict(zip(chosen["task_id"].to_list(), chosen["total_reward"].to_list(), strict=True))


def _labels(rows: pl.DataFrame, name: str) -> dict[str, str]:
    return {task: value for task, value in rows.select("task_id", name).unique().iter_rows() if value}


def _outcomes(rows: pl.DataFrame, iteration: IterationSummary) -> dict[str, bool]:
    chosen = rows.filter(pl.col("iteration") == iteration.iteration)
    return dict(zip(chosen["task_id"].to_list(), chosen["succeeded"].to_list(), strict=True))
