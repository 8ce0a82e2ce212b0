"""Rows of the table of feedback: the Arrow schema, and conversion of records."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from agentgym_store.arrow import pa
from agentgym_store.feedback.records import Feedback

FEEDBACK_FORMAT = "agentevol.feedback/2"

_OPINION = ("value", "low", "high", "values", "other", "verdict", "probability", "action", "reason")
"""Fields of the kinds of opinions; each has a column, null in the other kinds."""


def _column(name: str, kind: Any, comment: str, *, nullable: bool = False) -> Any:
    return pa.field(name, kind, nullable=nullable, metadata={"comment": comment})


def _of_a_kind(name: str, kind: Any, comment: str) -> Any:
    return _column(name, kind, comment, nullable=True)


FEEDBACK_SCHEMA = pa.schema(
    [
        _column("id", pa.string(), "Unique id of the record."),
        _column("trajectory_id", pa.string(), "Id of the episode."),
        _column("turn", pa.int64(), "Index of the turn, from 0; null: the episode.", nullable=True),
        _column("source", pa.string(), "human:NAME, judge:MODEL, environment:RULE or self:CHECKPOINT."),
        _column("kind", pa.string(), "score, dimensions, comparison, correction or flag."),
        _column("withdrawn", pa.bool_(), "True where the source withdraws its opinion."),
        _of_a_kind("value", pa.float64(), "Of a score."),
        _of_a_kind("low", pa.float64(), "The worst value of the scale of a score or dimensions."),
        _of_a_kind("high", pa.float64(), "The best value of the scale of a score or dimensions."),
        _of_a_kind("values", pa.string(), "Of dimensions: JSON object of values by name."),
        _of_a_kind("other", pa.string(), "Of a comparison: id of the other episode."),
        _of_a_kind("verdict", pa.string(), "Of a comparison: better, worse or tie."),
        _of_a_kind("probability", pa.float64(), "Of a comparison: that this episode is the better one."),
        _of_a_kind("action", pa.string(), "Of a correction."),
        _of_a_kind("reason", pa.string(), "Of a flag: unsafe, cheating or broken."),
        _column("note", pa.string(), "Free text."),
        _column("created_at", pa.string(), "RFC 3339, UTC, with microseconds."),
        _column("rubric_version", pa.string(), "Version of the rubric; empty without one."),
        _column("cost", pa.float64(), "Cost of the opinion in US dollars; null: not known.", nullable=True),
    ]
)

OLDER_FEEDBACK: Mapping[str, frozenset[str]] = {
    "agentevol.feedback/1": frozenset(FEEDBACK_SCHEMA.names) - {"probability"}
}
"""Columns of older formats. Their tables are read unchanged, and renewed with the next append."""


def to_table(records: Sequence[Feedback]) -> Any:
    """The `pyarrow.Table` of records."""
    return pa.Table.from_pylist([_row(record) for record in records], schema=FEEDBACK_SCHEMA)


def from_table(table: Any) -> list[Feedback]:
    """The records of a `pyarrow.Table`, validated. Raises `ValueError`."""
    return [_record(row) for row in table.to_pylist()]


def _row(record: Feedback) -> dict[str, Any]:
    found = record.model_dump(exclude={"opinion"}) | record.opinion.model_dump()
    if "values" in found:
        found["values"] = json.dumps(found["values"])
    return {name: found.get(name) for name in FEEDBACK_SCHEMA.names}


def _record(row: dict[str, Any]) -> Feedback:
    opinion = {name: row.pop(name, None) for name in ("kind", *_OPINION)}
    if opinion["values"] is not None:
        opinion["values"] = json.loads(opinion["values"])
    given = {name: value for name, value in opinion.items() if value is not None}
    return Feedback.model_validate({**row, "opinion": given})
