"""Comparison of two evaluations by their records, as data and as a document."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

from agentevol.core.errors import ConfigError
from agentevol.loop.report.document import Document, Table
from agentevol.loop.report.evaluations.losses import LossClass
from agentevol.loop.report.evaluations.paired import (
    REWARD,
    PairedScore,
    by_group,
    differing,
    paired,
    paired_losses,
    paired_performance,
)
from agentevol.loop.report.evaluations.performance import INVALID
from agentevol.loop.report.evaluations.records import EvaluationRecord, missing
from agentevol.loop.report.evaluations.tables import paired_rows
from agentgym_envs.core import Record

LAST = ("turns", "tokens", INVALID)
"""Measures that stand after the scores."""


class RecordComparison(Record):
    """The second evaluation against the first, paired by task and seat."""

    differs_in: dict[str, tuple[str, str]]
    """Settings that differ, with both values as JSON."""
    missing: dict[str, int]
    """Requested episodes that a file lacks, by its name."""
    scores: dict[str, PairedScore]
    """Success, return, scores in dimensions, turns, tokens, share of invalid actions."""
    losses: dict[LossClass, PairedScore]
    """Shares of lost episodes by class."""
    by: dict[str, dict[str, dict[str, PairedScore]]]
    """Breakdown (`kind`, `difficulty`) -> group -> success and return."""


def compared(
    first_name: str,
    first: Sequence[EvaluationRecord],
    name: str,
    other: Sequence[EvaluationRecord],
    *,
    force: bool,
    by: Sequence[str] = ("kind", "difficulty"),
) -> RecordComparison:
    """Compare two evaluations. Raises `ConfigError` where they share no task and seat, and, without `force`,
    where their settings differ.
    """
    apart = differing(first, other)
    if apart and not force:
        told = "; ".join(f"{setting}: {one} and {another}" for setting, (one, another) in apart.items())
        raise ConfigError(f"{first_name} and {name} differ in {told}. --force compares them all the same")
    scores, measures = paired(first, other), paired_performance(first, other)
    lost = {first_name: missing(first), name: missing(other)}
    ordered = {
        "success": measures["success"],
        **scores,
        **{one: measures[one] for one in LAST if one in measures},
    }
    return RecordComparison(
        differs_in=apart,
        missing={file: count for file, count in lost.items() if count},
        scores=ordered,
        losses=paired_losses(first, other),
        by={one: groups for one in by if len(groups := by_group(first, other, attrgetter(one))) > 1},
    )


def comparison_document(first: str, found: dict[str, RecordComparison]) -> Document:
    """The comparisons of several evaluations with the first, as tables."""
    return Document(
        "Comparison of evaluations",
        f"with {first}",
        " ".join(_headline(name, one) for name, one in found.items()),
        [table for name, one in found.items() for table in _tables(first, name, one)],
        notes=[line for name, one in found.items() for line in remarks(name, one)],
    )


def remarks(name: str, found: RecordComparison) -> Iterator[str]:
    """Settings that differ, and missing episodes."""
    for setting, (one, another) in found.differs_in.items():
        yield f"{name} differs in {setting}: {one} and {another}"
    for file, count in found.missing.items():
        yield f"{count:,} requested episodes are not in {file}"


def _headline(name: str, found: RecordComparison) -> str:
    one = found.scores["success"]
    change = one.difference
    told = (
        "no interval"
        if change.low is None or change.high is None
        else (f"95 % interval {100 * change.low:+.1f} to {100 * change.high:+.1f}")
    )
    return (
        f"{name}: success {100 * one.first:.1f} % to {100 * one.second:.1f} %,"
        f" {100 * (change.mean or 0.0):+.1f} points ({told}; {change.n:,} pairs)."
    )


def _tables(first: str, name: str, found: RecordComparison) -> Iterator[Table]:
    note = (
        "The difference of the same task in the same seat, after repeats of a task were averaged. Intervals"
        " are clustered by scenario, or else by task."
    )
    yield Table(f"{name} minus {first}", note, *paired_rows(found.scores))
    header, rows = paired_rows(found.losses)
    note = "Shares of the episodes with a return, by class of loss."
    yield Table(f"{name} minus {first}: why episodes were lost", note, ["class", *header[1:]], rows)
    for breakdown, groups in found.by.items():
        for measure in ("success", REWARD):
            header, rows = paired_rows({group: one[measure] for group, one in groups.items()})
            yield Table(f"{name}: {measure} by {breakdown}", "", [breakdown, *header[1:]], rows)
