"""`agentevol compare`: comparison of runs, and of evaluations."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import typer

from agentevol.cli.console.evaluations import compare_pairwise, compare_records
from agentevol.cli.console.output import AsJson, print_json, print_table
from agentevol.cli.console.reports import Reports, check_reports, write_reports


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(compare)


Folders = Annotated[list[Path], typer.Argument(help="Run folders, or files of records of agentevol eval.")]
By = Annotated[
    Literal["env", "kind", "difficulty"] | None,
    typer.Option(
        help="Also compare for each value of this property of the tasks: mean returns of runs, success and"
        " return of records."
    ),
]
Force = Annotated[
    bool, typer.Option("--force", help="Compare records of different settings, such as view or judge, too.")
]


Pairwise = Annotated[
    bool,
    typer.Option(
        "--pairwise",
        help="Compare every two files of records, of equal tasks and seeds, with Holm's correction.",
    ),
]


def compare(
    folders: Folders,
    by: By = None,
    force: Force = False,
    pairwise: Pairwise = False,
    report: Reports = None,
    json: AsJson = False,
) -> None:
    """Print what each run gained on its held-out tasks, start against best checkpoint, task by task.

    Runs that differ in nothing but the seed get the mean gain with its interval; other runs are compared with
    the first one named. Where rewards are graded, mean returns are compared as well. Bradley-Terry strengths
    rank all starts and bests on the tasks that all played.

    Files of records are compared with the first one named: success, return, scores, turns, tokens and
    invalid actions, paired by task and seat, with intervals clustered by scenario. Of a single file its own
    scores are printed. A report has all of it by task type and difficulty, too, also of the best checkpoints
    of runs.

    Example: agentevol compare runs/seed-0 runs/seed-1 runs/seed-2

    Example: agentevol compare before.jsonl after.jsonl

    Example: agentevol compare expert.jsonl random.jsonl starter.jsonl --pairwise

    Example: agentevol compare runs/social --by kind

    Example: agentevol compare runs/a runs/b --report a-and-b.html
    """
    check_reports(report)
    if pairwise:
        compare_pairwise(folders, by, force, json, report)
    elif force or any(folder.is_file() for folder in folders):
        compare_records(folders, by, force, json, report)
    else:
        _compare_runs(folders, by, json, report)


def _compare_runs(
    folders: Sequence[Path], by: str | None, json: bool, reports: Sequence[Path] | None
) -> None:
    from agentevol.loop.report.document import Table
    from agentevol.loop.report.run_comparison import compare_runs
    from agentevol.loop.state.run_folder import read_summary

    found = compare_runs([(folder, read_summary(folder)) for folder in folders], by, in_detail=bool(reports))
    write_reports(reports, found.document(), {"format": "agentevol.comparison/1", **found.as_json()})
    if json:
        print_json(found.as_json())
        return
    for part in found.parts():
        if isinstance(part, Table):
            print_table(part.header, part.rows, title=part.title)
        else:
            print(part)
