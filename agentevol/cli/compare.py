"""`agentevol compare`: comparison of runs, and of evaluations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agentevol.cli.console.evaluations import compare_records
from agentevol.cli.console.output import AsJson, print_json, print_table

if TYPE_CHECKING:
    from agentevol.loop.report.comparison import Difference, Evolved, Outcomes


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(compare)


def compare(
    folders: Annotated[
        list[Path], typer.Argument(help="Run folders, or files of records of agentevol eval.")
    ],
    force: Annotated[
        bool,
        typer.Option("--force", help="Compare records of different settings, such as view or judge, too."),
    ] = False,
    json: AsJson = False,
) -> None:
    """Print what each run gained on its held-out tasks, start against best checkpoint, task by task.

    Runs that differ in nothing but the seed get the mean gain with its interval; other runs are compared with
    the first one named. Bradley-Terry strengths rank all starts and bests on the tasks that all
    played.

    Files of records are compared with the first one named: return and scores, paired by task and seat, with
    intervals clustered by scenario. Of a single file its own scores are printed.

    Example: agentevol compare runs/seed-0 runs/seed-1 runs/seed-2

    Example: agentevol compare before.jsonl after.jsonl
    """
    if force or any(folder.is_file() for folder in folders):
        compare_records(folders, force, json)
        return
    from agentevol.loop.report.comparison import (
        differ_in_seed_alone,
        difference,
        evolved,
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
    strengths = run_strengths(runs)
    if json:
        found = {one.name: {"log": one.log_strength, "interval": one.interval} for one in strengths}
        print_json({**_as_json(runs, gains, against, mean), "strengths": found})
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
    for one in strengths:
        low, high = one.interval
        print(f"log-strength of {one.name}: {one.log_strength:.2f} ({low:.2f} to {high:.2f})")


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
