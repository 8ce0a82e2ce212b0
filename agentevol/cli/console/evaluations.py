"""Output of evaluations: scores in dimensions, and the paired comparison of files of records."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentevol.cli.console.output import print_json, print_table

if TYPE_CHECKING:
    from agentevol.core.summaries import ThinkingSummary
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


def compare_records(files: Sequence[Path], force: bool, json: bool) -> None:
    """Print the paired differences of each file of records from the first one; of a single file its figures.

    Raises `ConfigError` where the settings of two evaluations differ, unless `force` is given, and where they
    share no task.
    """
    from agentevol.core.errors import ConfigError
    from agentevol.loop.report.evaluations.records import read_records

    if not all(file.is_file() for file in files):
        raise ConfigError("records are compared with records: give files of `agentevol eval --records` alone")
    first, *others = [read_records(file) for file in files]
    if not others:
        _print_figures(first, json)
        return
    found = {
        str(file): _compared(files[0], first, file, other, force)
        for file, other in zip(files[1:], others, strict=True)
    }
    if json:
        print_json({"first": str(files[0]), "against_first": found})
        return
    for name, one in found.items():
        _print_pairs(str(files[0]), name, one)


def _print_figures(records: "Sequence[EvaluationRecord]", json: bool) -> None:
    from agentevol.loop.report.evaluations.summary import figures_of

    figures = figures_of(records)
    if json:
        scores = figures.model_dump(mode="json")["scores"]
        print_json({**score_members(figures), "endings": figures.endings, "dimensions": scores})
    else:
        print_scores(figures, records[0].partner)


def _compared(
    first_file: Path,
    first: "Sequence[EvaluationRecord]",
    file: Path,
    other: "Sequence[EvaluationRecord]",
    force: bool,
) -> dict[str, Any]:
    """Differences of two evaluations, their settings that differ, and the episodes that they lack."""
    from agentevol.core.errors import ConfigError
    from agentevol.loop.report.evaluations.paired import differing, paired
    from agentevol.loop.report.evaluations.records import missing

    scores, apart = paired(first, other), differing(first, other)
    if apart and not force:
        told = "; ".join(f"{name}: {one} and {another}" for name, (one, another) in apart.items())
        raise ConfigError(f"{first_file} and {file} differ in {told}. --force compares them all the same")
    lost = {str(first_file): missing(first), str(file): missing(other)}
    return {
        "differs_in": apart,
        "missing": {name: count for name, count in lost.items() if count},
        "scores": {name: score.model_dump(mode="json") for name, score in scores.items()},
    }


def _print_pairs(first: str, name: str, compared: dict[str, Any]) -> None:
    from agentevol.loop.report.evaluations.paired import PairedScore
    from agentevol.loop.report.evaluations.tables import paired_rows

    scores = {score: PairedScore.model_validate(one) for score, one in compared["scores"].items()}
    print_table(*paired_rows(scores), title=f"{name} minus {first}, paired by task and seat")
    for setting, (one, another) in compared["differs_in"].items():
        print(f"they differ in {setting}: {one} and {another}")
    for file, count in compared["missing"].items():
        print(f"{count:,} requested episodes are not in {file}")
