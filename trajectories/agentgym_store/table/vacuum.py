"""Removal of files that a compaction replaced, and the versions of a table that can be read after it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable

from agentgym_store.location import Place
from agentgym_store.table.compaction import COMPACTED
from agentgym_store.table.errors import one_error

KEPT_HOURS = 168
"""Hours for which replaced files stay at least: those of Delta."""


@dataclass(frozen=True)
class Vacuum:
    """Outcome of a vacuum."""

    files: int
    """Removed files."""
    readable_from: int
    """Version from which on every version can be read."""


def vacuum(place: Place, hours: int = KEPT_HOURS) -> Vacuum:
    """Remove files that were replaced more than `hours` ago, and older files that no entry of the log names,
    which killed processes leave.

    A reader that began before its files were replaced, and a writer between its file and its entry, have so
    many hours. Raises `StoreError`, and `ValueError` for less than an hour.
    """
    if hours < 1:
        raise ValueError(f"replaced files are kept for at least an hour, not {hours}")
    with one_error(f"cannot vacuum the table of trajectories {place}"):
        removed = DeltaTable(place.name).vacuum(
            retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=True
        )
    return Vacuum(len(set(removed)), readable_from(place))


def readable_from(place: Place) -> int:
    """The version from which on every version has all its files; 0 if none was removed."""
    with one_error(f"cannot read the table of trajectories {place}"):
        present = set(place.names())
        for version in _replacements(DeltaTable(place.name)):
            if not present.issuperset(_removed(place, version)):
                return version
    return 0


def _replacements(table: DeltaTable) -> Iterator[int]:
    """Versions that replaced files, newest first."""
    for entry in table.history():
        if COMPACTED in entry or entry.get("operation") == "OPTIMIZE":
            yield int(entry["version"])


def _removed(place: Place, version: int) -> Iterator[str]:
    """Files that a version removed from the table."""
    with place.files.open_input_stream(f"_delta_log/{version:020d}.json") as stream:
        text: bytes = stream.read()
    for line in text.splitlines():
        action: dict[str, Any] = json.loads(line)
        if "remove" in action:
            yield action["remove"]["path"]
