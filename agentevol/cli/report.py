"""`agentevol report`: reports of runs and evaluations."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.output import AsJson, print_json
from agentevol.cli.console.reports import By, Iteration, check_reports, write_reports

if TYPE_CHECKING:
    from agentevol.loop.report.document import Document


def register(parent: typer.Typer) -> None:
    """Add the command to the command line."""
    parent.command()(report)


Subject = Annotated[
    Path, typer.Argument(help="Folder of a run or a suite, or a file of records of agentevol eval.")
]
Best = Annotated[
    bool, typer.Option("--best", help="Of a run, report the evaluation of its best checkpoint in detail.")
]
Out = Annotated[
    list[Path] | None,
    typer.Option(help="A new file, .md, .html or .json; repeatable. Without it, Markdown is printed."),
]


def report(
    subject: Subject,
    best: Best = False,
    iteration: Iteration = None,
    by: By = None,
    out: Out = None,
    json: AsJson = False,
) -> None:
    """Report a run, or an evaluation: success by task type and difficulty, turns, tokens, invalid actions,
    reasons of losses, pass^k and pass@k, with intervals.

    Example: agentevol report before.jsonl --out before.html

    Example: agentevol report runs/first --out run.md --out run.json

    Example: agentevol report runs/first --iteration 3 --out iteration-3.html

    Example: agentevol report runs/small --out small.html
    """
    from agentevol.core.errors import ConfigError
    from agentevol.runs.suites.folder import is_suite

    check_reports(out)
    if best and iteration is not None:
        raise ConfigError("give --best or --iteration, not both")
    if subject.is_file() and (best or iteration is not None):
        raise ConfigError("--best and --iteration are for runs: a file of records is one evaluation")
    if is_suite(subject) and (best or iteration is not None or by):
        raise ConfigError("--best, --iteration and --by have no effect on a suite: its report has all groups")
    in_detail = subject.is_file() or best or iteration is not None
    if by and not in_detail:
        raise ConfigError("--by is for one evaluation: give --best or --iteration, too")
    document, values = _evaluation(subject, iteration, by) if in_detail else _run(subject)
    write_reports(out, document, values)
    if json:
        print_json(values)
    elif not out:
        from agentevol.loop.report.document import as_markdown

        print(as_markdown(document), end="")


def _evaluation(subject: Path, iteration: int | None, by: list[str] | None) -> "tuple[Document, Any]":
    from agentevol.loop.report.evaluations.evaluation_report import document_of, report_of
    from agentevol.loop.report.evaluations.records import read_records
    from agentevol.loop.report.evaluations.stored import records_of_run
    from agentevol.loop.report.evaluations.summary import groups_of
    from agentevol.loop.state.run_folder import read_summary

    groups = groups_of(by or ())
    if subject.is_file():
        records = read_records(subject)
    else:
        records = records_of_run(subject, read_summary(subject), iteration)
    found = report_of(records, groups)
    return document_of(found), found.model_dump(mode="json")


def _run(folder: Path) -> "tuple[Document, Any]":
    from agentevol.runs.suites.folder import is_suite
    from agentevol.runs.suites.results import results_of

    if is_suite(folder):
        found, document = results_of(folder)
        return document, found.model_dump(mode="json")
    from agentevol.loop.report.page import report_of_run
    from agentevol.loop.state.run_folder import read_summary

    return report_of_run(folder, read_summary(folder))
