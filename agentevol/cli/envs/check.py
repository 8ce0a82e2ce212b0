"""`agentevol envs check`: hold environments against the contract."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.console.processes import mapped
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

    One that needs what this machine lacks, as Java, is not checked; that is no failure unless it is named.

    Example: agentevol envs check guess
    """
    reports = []
    for name, report in _reports(chosen(names), tasks, rows, seed, jobs):
        reports.append(_as_json(name, report))
        if not json:
            print("\n".join(_lines(name, report)), flush=True)
    if json:
        print_json(reports)
    if not all(report["passed"] or (report["passed"] is None and not names) for report in reports):
        raise typer.Exit(1)


def _lines(name: str, report: "Report | str") -> list[str]:
    if isinstance(report, str):
        return [f"{name}: not checked: {report}"]
    verdict = "keeps" if report.passed else "BREAKS"
    return [f"{report.env}: {verdict} the contract", *(f"  {line}" for line in report.lines())]


def _as_json(name: str, report: "Report | str") -> dict[str, Any]:
    if isinstance(report, str):
        return {"env": name, "passed": None, "reason": report}
    return {"passed": report.passed, **report.model_dump()}


def _reports(
    names: list[str], tasks: int, rows: int, seed: int, jobs: int
) -> "Iterator[tuple[str, Report | str]]":
    """Names with their reports in order, each as soon as it is there."""
    one = partial(_report, tasks=tasks, rows=rows, seed=seed)
    yield from zip(names, mapped(one, names, jobs), strict=True)


def _report(name: str, *, tasks: int, rows: int, seed: int) -> "Report | str":
    """Report of an environment, or what it needs and this machine lacks."""
    from agentgym_envs.registry import EnvironmentUnavailable, make
    from agentgym_envs.testing import check_environment

    try:
        make(name).close()
    except EnvironmentUnavailable as cause:
        return str(cause)
    return check_environment(partial(make, name), tasks_per_split=tasks, rows_per_split=rows, seed=seed)
