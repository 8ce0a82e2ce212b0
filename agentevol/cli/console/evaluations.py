"""Output of evaluations: scores in dimensions, and the paired comparison of files of records."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentevol.cli.console.output import print_json, print_table
from agentevol.cli.console.reports import write_reports

if TYPE_CHECKING:
    from agentevol.core.summaries import ThinkingSummary
    from agentevol.loop.report.evaluations.record_comparison import RecordComparison
    from agentevol.loop.report.evaluations.records import EvaluationRecord
    from agentevol.loop.report.evaluations.summary import EvaluationFigures


def print_scores(
    figures: "EvaluationFigures", partner: str, thinking: "ThinkingSummary | None" = None
) -> None:
    """Print scores by dimension and group, where there are any, and the sum of endings.

    What stands above in `thinking`, modes and tokens, is left out.
    """
    from agentevol.loop.report.evaluations.tables import clusters, group_rows, lines, score_rows

    if figures.scores:
        title = f"scores, with intervals clustered by scenario or task: {clusters(figures):,} clusters"
        print_table(*score_rows(figures, partner), title=title)
        for group, values in figures.by.items():
            print_table(*group_rows(group, values))
    if thinking is not None:
        tokens = figures.tokens_per_turn if thinking.all.tokens is None else None
        figures = figures.model_copy(update={"levels": {}, "tokens_per_turn": tokens})
    for line in lines(figures):
        print(line)


def score_members(figures: "EvaluationFigures") -> dict[str, Any]:
    """Figures beside a summary, which has endings and dimensions, as JSON values."""
    told = figures.model_dump(mode="json", exclude={"endings", "scores"})
    names = {
        "episodes": "requested",
        "by": "dimensions_by",
        "by_seat": "dimensions_by_seat",
        "partner": "partner_dimensions",
    }
    return {names.get(name, name): value for name, value in told.items()}


def compare_records(
    files: Sequence[Path], by: str | None, force: bool, json: bool, reports: Sequence[Path] | None
) -> None:
    """Print the paired differences of each file of records from the first one, also for each value of a
    property of the tasks; of a single file its figures. Write them as reports, too.

    Raises `ConfigError` where the settings of two evaluations differ, unless `force` is given, and where they
    share no task.
    """
    from agentevol.core.errors import ConfigError
    from agentevol.loop.report.evaluations.record_comparison import compared, comparison_document
    from agentevol.loop.report.evaluations.records import read_records

    if not all(file.is_file() for file in files):
        raise ConfigError("records are compared with records: give files of `agentevol eval --records` alone")
    first, *others = [read_records(file) for file in files]
    if not others:
        _print_figures(first, json, reports)
        return
    name = str(files[0])
    found = {
        str(file): compared(name, first, str(file), other, force=force)
        for file, other in zip(files[1:], others, strict=True)
    }
    told = {file: one.model_dump(mode="json") for file, one in found.items()}
    values = {"format": "agentevol.comparison/1", "first": name, "against_first": told}
    write_reports(reports, comparison_document(name, found), values)
    if json:
        print_json(values)
        return
    for file, one in found.items():
        _print_pairs(name, file, one, by)


def compare_pairwise(
    files: Sequence[Path], by: str | None, force: bool, json: bool, reports: Sequence[Path] | None
) -> None:
    """Print the comparison of every two files of records. Raises `ConfigError` where their tasks, seeds or
    settings are unequal.
    """
    from agentevol.core.errors import ConfigError
    from agentevol.loop.report.evaluations.model_comparison import (
        check_settings,
        comparison_tables,
        headline,
        model_comparison,
        pairwise_document,
    )
    from agentevol.loop.report.evaluations.records import read_records

    names = [str(file) for file in files]
    if by is not None or force:
        raise ConfigError(f"{'--by' if by is not None else '--force'} has no effect with --pairwise")
    if len(files) < 2 or len(set(names)) < len(names):
        raise ConfigError("--pairwise compares at least two files of records, each named once")
    if not all(file.is_file() for file in files):
        raise ConfigError("--pairwise compares files of `agentevol eval --records` alone")
    models = {name: read_records(file) for name, file in zip(names, files, strict=True)}
    check_settings(models)
    found = model_comparison({"": models})
    values = {"format": "agentevol.model-comparison/1", **found.model_dump(mode="json")}
    write_reports(reports, pairwise_document(found), values)
    if json:
        print_json(values)
        return
    for table in comparison_tables(found):
        print_table(table.header, table.rows, title=table.title)
    print(headline(found))


def _print_figures(records: "Sequence[EvaluationRecord]", json: bool, reports: Sequence[Path] | None) -> None:
    from agentevol.loop.report.evaluations.evaluation_report import document_of, report_of

    found = report_of(records)
    figures = found.figures
    write_reports(reports, document_of(found), found.model_dump(mode="json"))
    if json:
        scores = figures.model_dump(mode="json")["scores"]
        print_json({**score_members(figures), "endings": figures.endings, "dimensions": scores})
    else:
        print_scores(figures, records[0].partner)


def _print_pairs(first: str, name: str, found: "RecordComparison", by: str | None) -> None:
    from agentevol.loop.report.evaluations.record_comparison import remarks
    from agentevol.loop.report.evaluations.tables import paired_rows

    print_table(*paired_rows(found.scores), title=f"{name} minus {first}, paired by task and seat")
    header, rows = paired_rows(found.losses)
    if rows:
        print_table(("lost", *header[1:]), rows, title="shares of lost episodes by class")
    for measure in ("success", "reward") if by is not None else ():
        groups = {group: one[measure] for group, one in found.by.get(by or "", {}).items()}
        header, rows = paired_rows(groups)
        print_table((f"{by}", *header[1:]), rows, title=f"{measure} by {by}")
    for line in remarks(name, found):
        print(line)
