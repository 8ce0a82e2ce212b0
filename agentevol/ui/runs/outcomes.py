"""Endings of the episodes of a table: counts with links to the episodes."""

from dataclasses import dataclass

import polars as pl

from agentevol.ui.episodes.endings import ENDING, meaning
from agentevol.ui.pages import address
from agentevol.ui.tables import Snapshot, collected
from agentevol.ui.text import one_line


@dataclass(frozen=True)
class Outcome:
    """Episodes of one purpose that ended in one way."""

    purpose: str
    ending: str
    """`truncated(max_turns)`, `failed(worker-lost)`, ..."""
    meaning: str
    episodes: int
    won: int
    example: str
    """Detail of one failure; empty for other endings."""
    href: str


def outcomes(snapshot: Snapshot, key: str) -> list[Outcome]:
    """Counts by purpose and ending, the most frequent first. Raises `StoreError`."""
    counted = collected(
        snapshot.frame.group_by("purpose", ENDING)
        .agg(
            pl.len().alias("episodes"),
            pl.col("succeeded").sum().alias("won"),
            pl.col("failure_detail").drop_nulls().first().alias("example"),
        )
        .sort("episodes", descending=True)
    )
    return [_outcome(row, key) for row in counted.iter_rows(named=True)]


def _outcome(row: dict[str, object], key: str) -> Outcome:
    purpose, ending = str(row["purpose"]), str(row["ending"])
    return Outcome(
        purpose,
        ending,
        meaning(ending),
        int(str(row["episodes"])),
        int(str(row["won"] or 0)),
        one_line(str(row["example"] or "")),
        address("episodes", key, purpose=purpose, ending=ending),
    )
