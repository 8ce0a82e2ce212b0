"""Output of evaluations: scores in dimensions, and the paired comparison of files of records."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentevol.cli.console.output import print_json, print_table

if TYPE_CHECKING:
    from agentevol.loop.report.evaluations.summary import EvaluationFigures


def print_scores(figures: "EvaluationFigures", partner: str) -> None:
    """Print scores by dimension and group, where there are any, and the sum of endings."""
    from agentevol.loop.report.evaluations.tables import clusters, group_rows, lines, score_rows

    if figures.scores:
        title = f"scores, with intervals clustered by scenario or task: {clusters(figures):,} clusters"
        print_table(*score_rows(figures, partner), title=title)
        for group, values in figures.by.items():
            print_table(*group_rows(group, values))
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
    """Print the paired differences of each file of records from the first one.

    Raises `ConfigError` where the settings of two evaluations differ, unless `force` is given, and where they
    share no task.
    """
    from agentevol.core.errors import ConfigError
    from agentevol.loop.report.evaluations.paired import differing, paired
    from agentevol.loop.report.evaluations.records import missing, read_records

    if len(files) < 2 or not all(file.is_file() for file in files):
        raise ConfigError(
            "records are compared with records: give two files of `agentevol eval --records` or more"
        )
    first, *others = [read_records(file) for file in files]
    found: dict[str, dict[str, Any]] = {}
    for file, other in zip(files[1:], others, strict=True):
        scores, apart = paired(first, other), differing(first, other)
        if apart and not force:
            told = "; ".join(f"{name}: {one} and {another}" for name, (one, another) in apart.items())
            raise ConfigError(f"{files[0]} and {file} differ in {told}. --force compares them all the same")
        found[str(file)] = {"differs_in": apart, "missing": missing(other), "scores": scores}
    if json:
        dumped = {
            name: {**one, "scores": {score: pair.model_dump() for score, pair in one["scores"].items()}}
            for name, one in found.items()
        }
        print_json({"first": str(files[0]), "missing": missing(first), "against_first": dumped})
        return
    for name, one in found.items():
        _print_pairs(str(files[0]), missing(first), name, one)


def _print_pairs(first: str, first_missing: int, name: str, compared: dict[str, Any]) -> None:
    from agentevol.loop.report.evaluations.tables import paired_rows

    print_table(*paired_rows(compared["scores"]), title=f"{name} minus {first}, paired by task and seat")
    for setting, (one, another) in compared["differs_in"].items():
        print(f"they differ in {setting}: {one} and {another}")
    for file, count in ((first, first_missing), (name, compared["missing"])):
        if count:
            print(f"{count:,} requested episodes are not in {file}")
