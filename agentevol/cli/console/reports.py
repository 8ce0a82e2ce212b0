"""Options of commands that write reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from agentevol.loop.report.document import Document

Reports = Annotated[
    list[Path] | None,
    typer.Option("--report", help="A new file for a report, .md, .html or .json; repeatable."),
]
By = Annotated[
    list[str] | None,
    typer.Option(
        help="Also show scores by source, relationship, kind, difficulty, scenario or ending; repeatable."
    ),
]
Iteration = Annotated[
    int | None, typer.Option(min=0, help="Of a run, report the evaluation of this iteration in detail.")
]


def check_reports(paths: Sequence[Path] | None) -> None:
    """Raise an error for a report that cannot be written, before anything is played."""
    if paths:
        from agentevol.loop.report.document import check_files

        check_files(paths)


def write_reports(paths: Sequence[Path] | None, document: "Document", values: object) -> None:
    """Write the report in all formats; `values` is its JSON."""
    from agentevol.loop.report.document import write_document

    for path in paths or ():
        write_document(path, document, values)
