"""One episode of a table, and those that belong to it."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from agentevol.ui.episodes.endings import ENDING
from agentevol.ui.errors import NotFound
from agentevol.ui.library import Source
from agentevol.ui.tables import Snapshot, Tables, collected
from agentgym_store.arrow import SCHEMA
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch
from agentgym_store.table.errors import one_error
from agentgym_store.table.reading import completed, read
from agentgym_store.table.where import Where

GROUP_COLUMNS = (
    "id",
    "attempt",
    "seat",
    "total_reward",
    "succeeded",
    "turn_count",
    "policy",
    "iteration",
    "purpose",
)
MOST_MEMBERS = 200
"""Episodes of a group that are listed."""


@dataclass(frozen=True)
class Found:
    """An episode with its row in lists of episodes."""

    episode: Trajectory
    row: dict[str, Any]


def find_episode(tables: Tables, source: Source, name: str) -> Found:
    """The episode with this id. Raises `NotFound`, `StoreError`."""
    rows = collected(tables.snapshot(source, Where(ids=[name])).frame.head(1)).rows(named=True)
    if not rows:
        raise NotFound(
            f"There is no episode “{name}” in {source.name}.",
            "Its table may have been replaced. The list of episodes shows what is there now.",
        )
    row = rows[0]
    # its other columns lead to the file, and within it to the row group
    place = {column: row[column] for column in ("run", "iteration", "purpose", "ending", "env", "split")}
    where = Where(ids=[name], **place)
    return Found(_read(tables.snapshot(source, where), where, name), row)


def _read(snapshot: Snapshot, where: Where, name: str) -> Trajectory:
    with one_error(f"cannot read the episode {name}"):
        for batch in read(snapshot.files, snapshot.place, None, where, 256):
            return from_batch(completed(batch, SCHEMA.names))[0]
    raise NotFound(f"The episode “{name}” is no longer in the table.")


def group_of(tables: Tables, source: Source, episode: Trajectory) -> list[dict[str, Any]]:
    """Rows of the episodes of the same task, iteration and purpose, itself included, by attempt and seat."""
    where = Where(
        run=episode.run,
        iteration=episode.iteration,
        purpose=episode.purpose,
        env=episode.env,
        split=episode.split,
        task_ids=[episode.task_id],
    )
    frame = tables.snapshot(source, where).frame.select(*GROUP_COLUMNS, ENDING)
    order = [pl.col("attempt"), pl.col("seat").fill_null(0), pl.col("id")]
    return collected(frame.sort(order).head(MOST_MEMBERS)).rows(named=True)
