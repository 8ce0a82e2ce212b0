"""Commits to a table that other processes change at the same time."""

from collections.abc import Callable

from deltalake import DeltaTable
from deltalake.exceptions import CommitFailedError


def committed(table: DeltaTable, commit: Callable[[], None]) -> None:
    """Commit to the table, once more where another process has changed its metadata meanwhile: two that
    create a table at once both write them. Raises `DeltaError`.
    """
    try:
        commit()
    except CommitFailedError as cause:
        if "Metadata changed" not in str(cause):
            raise
        table.update_incremental()
        commit()
