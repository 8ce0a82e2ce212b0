"""`agentevol eval --suite`: evaluation of several models in several environments."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from agentevol.cli.console.output import print_json, print_table

if TYPE_CHECKING:
    from agentevol.loop.report.suites.suite_report import SuiteReport
    from agentevol.runs.suites.plan import SuitePlan

OWN = ("suite", "settings", "out", "dry_run", "json")
"""Options that a suite reads."""
FOR_SUITES = {"out": "--out", "dry_run": "--dry-run"}
"""Options that only a suite reads."""


def evaluate_suite(
    context: typer.Context,
    suite: Path | None,
    settings: Sequence[str],
    out: Path | None,
    dry_run: bool,
    json: bool,
) -> bool:
    """Play a suite, and print its plan or its report; False where no suite is given. Raises `ConfigError` for
    options without an effect.
    """
    _check_options(context, with_suite=suite is not None)
    if suite is None:
        return False
    from agentevol.config.suite import load_suite
    from agentevol.runs.suites.folder import check_folder
    from agentevol.runs.suites.plan import plan_of

    config = load_suite(suite, settings)
    folder = out or Path("runs") / config.name
    check_folder(folder, config)
    plan = plan_of(config)
    if dry_run:
        _print_plan(plan, folder, json)
    else:
        _play(plan, folder, json)
    return True


def _check_options(context: typer.Context, *, with_suite: bool) -> None:
    from agentevol.core.errors import ConfigError

    given = [name for name in context.params if _is_given(context, name)]
    wrong = [name for name in given if (name not in OWN if with_suite else name in FOR_SUITES)]
    if wrong:
        option = "--" + wrong[0].replace("_", "-").replace("action-format", "format")
        raise ConfigError(
            f"{option} has no effect with --suite: write it into the file"
            if with_suite
            else f"{option} has no effect without --suite"
        )


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _print_plan(plan: "SuitePlan", folder: Path, json: bool) -> None:
    header = ("environment", "model", "split", "tasks", "trials", "episodes")
    rows = list(plan.rows())
    if json:
        parts = [dict(zip(header, row, strict=True)) for row in rows]
        print_json({"out": str(folder), "suite": plan.config.model_dump(mode="json"), "parts": parts})
        return
    print_table(header, rows)
    sample = f", {plan.config.sample:,} of them for people to rate" if plan.config.sample else ""
    print(f"{plan.episodes:,} episodes{sample}, into {folder}")


def _play(plan: "SuitePlan", path: Path, json: bool) -> None:
    from rich.console import Console

    from agentevol.loop.state.progress import Progress
    from agentevol.runs.suites.folder import SuiteFolder
    from agentevol.runs.suites.play import play_suite
    from agentevol.runs.suites.results import draw_sample, write_reports

    with SuiteFolder(path, plan.config) as folder:
        play_suite(plan, folder, Progress(Console(highlight=False, stderr=True)))
        draw_sample(path)
        found, document = write_reports(path)
    if json:
        print_json(found.model_dump(mode="json"))
    else:
        _print(found)
        for note in document.notes:
            print(note)
        print(f"report: {path / 'report.html'}")
    if not any(one.performance.episodes for one in found.cells):
        raise typer.Exit(1)


def _print(found: "SuiteReport") -> None:
    from agentevol.loop.report.evaluations.model_comparison import comparison_tables, headline

    for table in comparison_tables(found.comparison):
        if table.rows:
            print_table(table.header, table.rows, title=table.title)
    if any(found.comparison.pairs.values()):
        print(headline(found.comparison))
