"""`agentevol compare`: comparison of runs, and of evaluations."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from agentevol.cli.console.evaluations import compare_records
from agentevol.cli.console.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from agentevol.loop.report.comparison import Difference, Evolved, MeanDifference, Outcomes


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(compare)


Folders = Annotated[list[Path], typer.Argument(help="Run folders, or files of records of agentevol eval.")]
By = Annotated[
    Literal["kind", "difficulty"] | None,
    typer.Option(help="Print mean returns of runs, also for each value of this property of the tasks."),
]
Force = Annotated[
    bool, typer.Option("--force", help="Compare records of different settings, such as view or judge, too.")
]


def compare(folders: Folders, by: By = None, force: Force = False, json: AsJson = False) -> None:
    """Print what each run gained on its held-out tasks, start against best checkpoint, task by task.

    Runs that differ in nothing but the seed get the mean gain with its interval; other runs are compared with
    the first one named. Where rewards are graded, mean returns are compared as well. Bradley-Terry strengths
    rank all starts and bests on the tasks that all played.

    Files of records are compared with the first one named: return and scores, paired by task and seat, with
    intervals clustered by scenario. Of a single file its own scores are printed.

    Example: agentevol compare runs/seed-0 runs/seed-1 runs/seed-2

    Example: agentevol compare before.jsonl after.jsonl

    Example: agentevol compare runs/social --by kind
    """
    from agentevol.core.errors import ConfigError

    if force or any(folder.is_file() for folder in folders):
        if by is not None:
            raise ConfigError("--by has no effect on records: it is for runs")
        compare_records(folders, force, json)
    else:
        _compare_runs(folders, by, json)


def _compare_runs(folders: Sequence[Path], by: str | None, json: bool) -> None:
    from agentevol.loop.report.comparison import (
        ALL,
        differ_in_seed_alone,
        difference,
        evolved,
        mean_differences,
        mean_gain,
        run_strengths,
    )
    from agentevol.loop.state.run_folder import read_summary

    runs = [evolved(folder, read_summary(folder)) for folder in folders]
    gains = {run.name: difference(run.start, run.best) for run in runs}
    against: dict[str, Difference] = {}
    mean: tuple[float, tuple[float, float]] | None = None
    if differ_in_seed_alone(runs):
        mean = mean_gain([one.gain for one in gains.values()])
    else:
        against = {run.name: difference(runs[0].best, run.best) for run in runs[1:]}
    is_told = by is not None or any(run.is_graded for run in runs)
    returns = {run.name: mean_differences(run, by) for run in runs} if is_told else {}
    mean_return = mean_gain([rows[ALL].gain for rows in returns.values()]) if returns and mean else None
    strengths = run_strengths(runs)
    if json:
        found = {one.name: {"log": one.log_strength, "interval": one.interval} for one in strengths}
        print_json(
            {
                **_as_json(runs, gains, against, mean),
                **_returns_as_json(returns, mean_return),
                "strengths": found,
            }
        )
        return
    title = f"won of {runs[0].split}, start and best (iteration), in points and paired by task"
    print_table(_HEADER, [_row(run, gains[run.name]) for run in runs], title=title)
    if mean is not None:
        print(f"mean gain over {len(runs)} seeds: {_points(mean[0])} ({_interval(mean[1])}, Student's t)")
    for name, one in against.items():
        print(
            f"best of {name} against best of {runs[0].name}: {_points(one.gain)} ({_interval(one.interval)},"
            f" n = {one.n}, p = {one.p:.2g})"
        )
    if returns:
        _print_returns(runs, returns, mean_return)
    for one in strengths:
        low, high = one.interval
        print(f"log-strength of {one.name}: {one.log_strength:.2f} ({low:.2f} to {high:.2f})")


def _print_returns(
    runs: "list[Evolved]",
    returns: "Mapping[str, Mapping[str, MeanDifference]]",
    mean: tuple[float, tuple[float, float]] | None,
) -> None:
    rows = [
        (run.name, tasks, one.n, f"{one.first:.3f}", f"{one.second:.3f} ({run.iteration})", *_change(one))
        for run in runs
        for tasks, one in returns[run.name].items()
    ]
    title = f"mean return on {runs[0].split}, start and best (iteration), paired by task"
    print_table(("run", "tasks", "n", "start", "best", "gain", "95 % interval"), rows, title=title)
    if mean is not None:
        low, high = mean[1]
        print(f"mean gain over {len(runs)} seeds: {mean[0]:+.3f} ({low:+.3f} to {high:+.3f}, Student's t)")


def _change(one: "MeanDifference") -> tuple[str, str]:
    low, high = one.interval
    return f"{one.gain:+.3f}", f"{low:+.3f} to {high:+.3f}"


def _returns_as_json(
    returns: "Mapping[str, Mapping[str, MeanDifference]]", mean: tuple[float, tuple[float, float]] | None
) -> dict[str, object]:
    def figures(one: "MeanDifference") -> dict[str, object]:
        found = {"n": one.n, "start": one.first, "best": one.second}
        return {**found, "gain": one.gain, "interval": one.interval}

    told = {name: {tasks: figures(one) for tasks, one in rows.items()} for name, rows in returns.items()}
    return {
        "returns": told,
        "mean_gain_in_return": None if mean is None else {"gain": mean[0], "interval": mean[1]},
    }


_HEADER = ("run", "n", "start", "best", "gain", "95 % interval", "p")


def _row(run: "Evolved", gain: "Difference") -> tuple[object, ...]:
    best = f"{_rate(run.best)} ({run.iteration})"
    return (
        run.name,
        gain.n,
        _rate(run.start),
        best,
        _points(gain.gain),
        _interval(gain.interval),
        f"{gain.p:.2g}",
    )


def _rate(outcomes: "Outcomes") -> str:
    from agentevol.loop.report.rates import rate_text

    return rate_text(sum(outcomes.values()), len(outcomes))


def _points(gain: float) -> str:
    return f"{100 * gain:+.1f}"


def _interval(bounds: tuple[float, float]) -> str:
    return f"{100 * bounds[0]:+.1f} to {100 * bounds[1]:+.1f}"


def _as_json(
    runs: "list[Evolved]",
    gains: "dict[str, Difference]",
    against: "dict[str, Difference]",
    mean: tuple[float, tuple[float, float]] | None,
) -> dict[str, object]:
    def figures(one: "Difference") -> dict[str, object]:
        return {
            "n": one.n,
            "gain": one.gain,
            "interval": one.interval,
            "won": one.won,
            "lost": one.lost,
            "p": one.p,
        }

    return {
        "runs": [
            {
                "run": run.name,
                "seed": run.seed,
                "split": run.split,
                "best": run.iteration,
                **figures(gains[run.name]),
            }
            for run in runs
        ],
        "mean_gain": None if mean is None else {"gain": mean[0], "interval": mean[1]},
        "against_first": {name: figures(one) for name, one in against.items()},
    }
