"""Runs side by side, by the figures of `agentevol compare`: paired by task, with intervals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agentevol.config.settings import flattened
from agentevol.core.errors import ConfigError
from agentevol.loop.report.comparison import (
    Difference,
    Evolved,
    Outcomes,
    differ_in_seed_alone,
    difference,
    evolved,
    mean_differences,
    mean_gain,
    run_strengths,
)
from agentevol.loop.report.document import Table
from agentevol.loop.report.rates import rate_text
from agentevol.ui.runs.summaries import summary_of


@dataclass(frozen=True)
class RunComparisonView:
    """What the page of a comparison of runs shows."""

    tables: Sequence[Table]
    settings: Table
    """Settings that differ."""
    problems: Sequence[str]
    """Comparisons that cannot be made, and why."""


def compare_runs(runs: Mapping[str, Path]) -> RunComparisonView:
    """Compare runs by name. Raises `ConfigError` where one has nothing evaluated, `StoreError`."""
    found = {name: replace(evolved(folder, summary_of(folder)), name=name) for name, folder in runs.items()}
    problems: list[str] = []
    tables = [_gains(found), *_against(found, problems), *_returns(found), *_strengths(found)]
    return RunComparisonView(tables, _settings(found), problems)


def _gains(found: Mapping[str, Evolved]) -> Table:
    gains = {name: difference(run.start, run.best) for name, run in found.items()}
    note = "Start against best checkpoint of each run on its held-out split, in points and paired by task."
    runs = list(found.values())
    if differ_in_seed_alone(runs):
        mean, (low, high) = mean_gain([one.gain for one in gains.values()])
        note += (
            f" The runs differ in their seed alone: the mean gain is {_points(mean)}"
            f" (95 % interval {_points(low)} to {_points(high)}, Student's t)."
        )
    rows = [
        [
            name,
            f"{gain.n}",
            _rate(found[name].start),
            f"{_rate(found[name].best)} ({found[name].iteration})",
            *_told(gain),
        ]
        for name, gain in gains.items()
    ]
    return Table("Gain of each run", note, ["run", "tasks", "start", "best (iteration)", *_TOLD], rows)


def _against(found: Mapping[str, Evolved], problems: list[str]) -> list[Table]:
    (name, first), *others = found.items()
    rows: list[list[str]] = []
    for other, run in others:
        try:
            found_difference = difference(first.best, run.best)
        except ConfigError as cause:
            problems.append(f"{other} and {name}: {cause}")
            continue
        rows.append([other, f"{found_difference.n}", *_told(found_difference)])
    note = f"Best checkpoint of each against that of {name}, on the tasks that both played."
    return [Table(f"Against {name}", note, ["run", "tasks", *_TOLD], rows)] if rows else []


def _returns(found: Mapping[str, Evolved]) -> list[Table]:
    if not any(run.is_graded for run in found.values()):
        return []
    rows = [
        [
            name,
            tasks,
            f"{one.n}",
            f"{one.first:.3f}",
            f"{one.second:.3f}",
            f"{one.gain:+.3f}",
            _between(one.interval),
        ]
        for name, run in found.items()
        for tasks, one in mean_differences(run, "kind").items()
    ]
    header = ["run", "tasks", "n", "start", "best", "gain", "95 % interval"]
    note = "Mean return, start against best checkpoint, of all tasks and by kind."
    return [Table("Mean return", note, header, rows)]


def _strengths(found: Mapping[str, Evolved]) -> list[Table]:
    rows = [
        [one.name, f"{one.log_strength:.2f}", f"{one.interval[0]:.2f} to {one.interval[1]:.2f}"]
        for one in run_strengths(list(found.values()))
    ]
    note = "Bradley-Terry, natural logarithm, on the tasks that all played; 95 % bootstrap over tasks."
    return [Table("Strength", note, ["policy", "log-strength", "95 % interval"], rows)] if rows else []


def _settings(found: Mapping[str, Evolved]) -> Table:
    flat = {name: dict(flattened({**run.settings, "seed": run.seed})) for name, run in found.items()}
    keys = sorted({key for settings in flat.values() for key in settings})
    rows = [
        [key, *(settings.get(key, "–") for settings in flat.values())]
        for key in keys
        if len({settings.get(key) for settings in flat.values()}) > 1
    ]
    return Table("Settings that differ", "", ["setting", *found], rows)


_TOLD = ("gain", "95 % interval", "won / lost", "p")


def _told(one: Difference) -> list[str]:
    low, high = one.interval
    return [
        _points(one.gain),
        f"{_points(low)} to {_points(high)}",
        f"{one.won} / {one.lost}",
        f"{one.p:.2g}",
    ]


def _rate(outcomes: Outcomes) -> str:
    return rate_text(sum(outcomes.values()), len(outcomes))


def _points(gain: float) -> str:
    return f"{100 * gain:+.1f}"


def _between(bounds: tuple[float, float]) -> str:
    return f"{bounds[0]:+.3f} to {bounds[1]:+.3f}"
