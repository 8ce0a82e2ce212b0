"""Comparison of runs: what each gained on its held-out tasks, and how their best checkpoints differ."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agentevol.core.errors import ConfigError
from agentevol.core.summaries import RunSummary
from agentevol.loop.report.comparison import (
    ALL,
    Difference,
    Evolved,
    MeanDifference,
    Outcomes,
    differ_in_seed_alone,
    difference,
    evolved,
    mean_differences,
    mean_gain,
    run_strengths,
)
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.record_comparison import (
    RecordComparison,
    compared,
    comparison_document,
)
from agentevol.loop.report.evaluations.stored import records_of_run
from agentevol.loop.report.rates import rate_text
from agentevol.loop.report.strengths import Strength

Mean = tuple[float, tuple[float, float]]
"""A mean over runs, and its interval."""


@dataclass(frozen=True)
class RunComparison:
    """Comparison of one or more runs, paired by task."""

    runs: Sequence[Evolved]
    gains: Mapping[str, Difference]
    """Start against best of each run."""
    against_first: Mapping[str, Difference]
    """Best of the first run against best of each other one; empty for runs that differ in the seed alone."""
    mean: Mean | None
    """Mean gain of runs that differ in the seed alone."""
    returns: Mapping[str, Mapping[str, MeanDifference]]
    """Start against best by mean return, of all tasks and by group; empty unless returns are wanted."""
    strengths: Sequence[Strength]
    details: Mapping[str, RecordComparison] = field(default_factory=dict[str, RecordComparison])
    """Best of each other run against best of the first one in all measures, if wanted."""

    @property
    def mean_return(self) -> Mean | None:
        """Mean gain in return of runs that differ in the seed alone."""
        if not self.returns or self.mean is None:
            return None
        return mean_gain([rows[ALL].gain for rows in self.returns.values()])

    def as_json(self) -> dict[str, Any]:
        """All figures as JSON values."""
        found = {
            "runs": [_run_figures(run, self.gains[run.name]) for run in self.runs],
            "mean_gain": _mean_figures(self.mean),
            "against_first": {name: _figures(one) for name, one in self.against_first.items()},
            "returns": {
                name: {tasks: _return_figures(one) for tasks, one in rows.items()}
                for name, rows in self.returns.items()
            },
            "mean_gain_in_return": _mean_figures(self.mean_return),
            "strengths": {
                one.name: {"log": one.log_strength, "interval": one.interval} for one in self.strengths
            },
        }
        if self.details:
            found["details"] = {name: one.model_dump(mode="json") for name, one in self.details.items()}
        return found

    def parts(self) -> Iterator[Table | str]:
        """Tables and lines in the order in which they are printed."""
        split = self.runs[0].split
        rows = [_row(run, self.gains[run.name]) for run in self.runs]
        title = f"won of {split}, start and best (iteration), in points and paired by task"
        yield Table(title, "", _HEADER, rows)
        if self.mean is not None:
            told = f"{_points(self.mean[0])} ({_interval(self.mean[1])}, Student's t)"
            yield f"mean gain over {len(self.runs)} seeds: {told}"
        for name, one in self.against_first.items():
            yield (
                f"best of {name} against best of {self.runs[0].name}: {_points(one.gain)}"
                f" ({_interval(one.interval)}, n = {one.n}, p = {one.p:.2g})"
            )
        if self.returns:
            yield self._returns(f"mean return on {split}, start and best (iteration), paired by task")
        if (mean := self.mean_return) is not None:
            low, high = mean[1]
            told = f"{mean[0]:+.3f} ({low:+.3f} to {high:+.3f}, Student's t)"
            yield f"mean gain over {len(self.runs)} seeds: {told}"
        for one in self.strengths:
            low, high = one.interval
            yield f"log-strength of {one.name}: {one.log_strength:.2f} ({low:.2f} to {high:.2f})"

    def _returns(self, title: str) -> Table:
        rows = [
            [
                *(run.name, tasks, one.n, f"{one.first:.3f}", f"{one.second:.3f} ({run.iteration})"),
                *(f"{one.gain:+.3f}", f"{one.interval[0]:+.3f} to {one.interval[1]:+.3f}"),
            ]
            for run in self.runs
            for tasks, one in self.returns[run.name].items()
        ]
        return Table(title, "", ("run", "tasks", "n", "start", "best", "gain", "95 % interval"), rows)

    def document(self) -> Document:
        """The comparison as a report."""
        first, parts = self.runs[0], list(self.parts())
        gain = self.gains[first.name]
        inner = comparison_document(f"best of {first.name}", dict(self.details))
        return Document(
            "Comparison of runs",
            ", ".join(run.name for run in self.runs),
            f"{first.name} won {_rate(first.start)} of {first.split} at its start and {_rate(first.best)}"
            f" with its best checkpoint: {_points(gain.gain)} points ({_interval(gain.interval)}).",
            [*(one for one in parts if isinstance(one, Table)), *inner.tables],
            notes=[*(one for one in parts if isinstance(one, str)), *inner.notes],
        )


def compare_runs(
    folders: Sequence[tuple[Path, RunSummary]],
    by: str | None,
    *,
    in_detail: bool = False,
    names: Sequence[str] | None = None,
) -> RunComparison:
    """Compare runs, each given by its folder and summary. `by` wants mean returns by a property of the tasks;
    `names` are those of the runs, by default their folders.

    Raises `ConfigError` where nothing was evaluated, or no task was played by both, and `StoreError`.
    """
    found = [evolved(folder, summary) for folder, summary in folders]
    runs = [
        replace(run, name=name) for run, name in zip(found, names or [run.name for run in found], strict=True)
    ]
    gains = {run.name: difference(run.start, run.best) for run in runs}
    alike = differ_in_seed_alone(runs)
    against = {} if alike else {run.name: difference(runs[0].best, run.best) for run in runs[1:]}
    is_told = by is not None or any(run.is_graded for run in runs)
    return RunComparison(
        runs,
        gains,
        against,
        mean_gain([one.gain for one in gains.values()]) if alike else None,
        {run.name: mean_differences(run, by) for run in runs} if is_told else {},
        run_strengths(runs),
        _details(folders) if in_detail else {},
    )


def _details(folders: Sequence[tuple[Path, RunSummary]]) -> dict[str, RecordComparison]:
    (first, summary), *others = folders
    ones, name = records_of_run(first, summary), f"best of {first}"
    found: dict[str, RecordComparison] = {}
    for folder, other in others:
        try:
            theirs = records_of_run(folder, other)
            found[f"best of {folder}"] = compared(name, ones, f"best of {folder}", theirs, force=True)
        except ConfigError:  # they share no task: the gain of each run stands above
            continue
    return found


def _run_figures(run: Evolved, gain: Difference) -> dict[str, object]:
    named = {"run": run.name, "seed": run.seed, "split": run.split, "best": run.iteration}
    return {**named, **_figures(gain)}


def _figures(one: Difference) -> dict[str, object]:
    counts = {"n": one.n, "gain": one.gain, "interval": one.interval, "won": one.won, "lost": one.lost}
    return {**counts, "p": one.p}


def _return_figures(one: MeanDifference) -> dict[str, object]:
    means = {"n": one.n, "start": one.first, "best": one.second}
    return {**means, "gain": one.gain, "interval": one.interval}


def _mean_figures(mean: Mean | None) -> dict[str, object] | None:
    return None if mean is None else {"gain": mean[0], "interval": mean[1]}


_HEADER = ("run", "n", "start", "best", "gain", "95 % interval", "p")


def _row(run: Evolved, gain: Difference) -> list[object]:
    best = f"{_rate(run.best)} ({run.iteration})"
    change = (_points(gain.gain), _interval(gain.interval), f"{gain.p:.2g}")
    return [run.name, gain.n, _rate(run.start), best, *change]


def _rate(outcomes: Outcomes) -> str:
    return rate_text(sum(outcomes.values()), len(outcomes))


def _points(gain: float) -> str:
    return f"{100 * gain:+.1f}"


def _interval(bounds: tuple[float, float]) -> str:
    return f"{100 * bounds[0]:+.1f} to {100 * bounds[1]:+.1f}"
