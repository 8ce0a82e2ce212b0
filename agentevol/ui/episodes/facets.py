"""Values that the filters of a table offer, with the number of episodes of each."""

import polars as pl

from agentevol.ui.episodes.endings import ENDING
from agentevol.ui.tables import Snapshot, collected

COLUMNS = ("env", "split", "purpose", "iteration", "ending", "policy", "kind", "difficulty")
MOST_VALUES = 200
"""Values of one filter: the most frequent."""

Facets = dict[str, list[tuple[str, int]]]
"""Column -> values with their number of episodes; iterations ascend, others are alphabetical."""


def facets(snapshot: Snapshot) -> Facets:
    """Values of all episodes of a version of a table. Raises `StoreError`."""
    columns = [ENDING if column == "ending" else pl.col(column) for column in COLUMNS]
    values = collected(snapshot.frame.select(columns))
    return {column: _counted(values[column]) for column in COLUMNS}


def _counted(column: pl.Series) -> list[tuple[str, int]]:
    counts = column.value_counts(sort=True).head(MOST_VALUES).sort(column.name)
    return [(str(value), int(count)) for value, count in counts.iter_rows() if value not in ("", None)]
