"""`agentevol envs check`: hold environments against the contract."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.envs.options import Names, chosen

if TYPE_CHECKING:
    from agentgym_envs.testing import Report


def check(
    names: Names = None,
    tasks: Annotated[int, typer.Option(min=1, help="Tasks to play in each split.")] = 4,
    rows: Annotated[int, typer.Option(min=1, help="Tasks to compare in each split.")] = 200,
    seed: Annotated[int, typer.Option(help="Seed of the random actions.")] = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Environments checked at a time, in own processes.")] = 1,
    json: AsJson = False,
) -> None:
    """Hold environments against the contract; exit code 1 if one breaks it.

    Example: agentevol envs check guess
    """
    reports = []
    for report in _reports(chosen(names), tasks, rows, seed, jobs):
        reports.append(report)
        if not json:
            print(f"{report.env}: {'keeps' if report.passed else 'BREAKS'} the contract")
            print("\n".join(f"  {line}" for line in report.lines()), flush=True)
    if json:
        print_json([{"passed": report.passed, **report.model_dump()} for report in reports])
    if not all(report.passed for report in reports):
        raise typer.Exit(1)


def _reports(names: list[str], tasks: int, rows: int, seed: int, jobs: int) -> "Iterator[Report]":
    """Reports in the order of `names`, each as soon as it is there."""
    one = partial(_report, tasks=tasks, rows=rows, seed=seed)
    if jobs == 1 or len(names) == 1:
        yield from map(one, names)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(one, names)


def _report(name: str, *, tasks: int, rows: int, seed: int) -> "Report":
    from agentgym_envs.registry import make
    from agentgym_envs.testing import check_environment

    return check_environment(partial(make, name), tasks_per_split=tasks, rows_per_split=rows, seed=seed)
