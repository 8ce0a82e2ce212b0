"""Compaction: many small Parquet files become few large ones, and the order of the episodes is kept.

Delta's own optimisation reverses the order of files, and delta-rs does not notice two that run at once, after
which every episode is there twice. Here the large file is written in the place of the small ones, and one
entry of the log adds it and removes them. That entry is written for the very version that was looked at: if
another process was quicker, the files are looked at again.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from uuid import uuid4

from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import DeltaError
from deltalake.transaction import RemoveAction

from agentgym_store.arrow import SCHEMA, compute, pa
from agentgym_store.location import Place
from agentgym_store.table.errors import one_error
from agentgym_store.table.formats import check_format, renew_format
from agentgym_store.table.log import PRUNED, Log, add_action
from agentgym_store.table.parquet_files import writing
from agentgym_store.table.reading import completed, read
from agentgym_store.table.where import ALL

TARGET_BYTES = 128 * 2**20
"""Size up to which files are put together; those of at least half of it stay as they are."""
COMPACTED = "compactedFiles"
"""Member of a log entry: how many files a compaction replaced."""
_GROUP_EPISODES = 1024
_GROUP_BYTES = 64 * 2**20
_ATTEMPTS = 50
_APPENDED = re.compile(r"\d{20}-[0-9a-f]{32}")

Ranges = dict[str, tuple[Any, Any]]


@dataclass(frozen=True)
class Layout:
    """Kind of a table, as far as a compaction needs it."""

    name: str
    schema: Any
    """The Arrow schema."""
    pruned: Sequence[str]
    """Columns with value ranges in the log."""
    prepare: Callable[[DeltaTable, Place], None]
    """Check of the table, before anything is changed."""


def _prepare(table: DeltaTable, place: Place) -> None:
    check_format(table, place)
    renew_format(table)


EPISODES = Layout("trajectories", SCHEMA, PRUNED, _prepare)


@dataclass(frozen=True)
class Compaction:
    """Outcome of a compaction."""

    files_before: int
    files_after: int
    replaced: int
    """Files that were replaced by larger ones."""
    version: int
    """Version of the table with the large files."""


def compact(
    place: Place,
    target_bytes: int = TARGET_BYTES,
    replaced: Callable[[int], None] = lambda _: None,
    layout: Layout = EPISODES,
) -> Compaction:
    """Put neighbouring small files together, with a log entry for each large file.

    `replaced` is called with the number of files replaced so far. Readers and writers go on: a replaced file
    stays until `vacuum`. A process that is killed leaves a table with the same episodes. Raises `StoreError`.
    """
    with one_error(f"cannot compact the table of {layout.name} {place}"):
        table = DeltaTable(place.name)
        layout.prepare(table, place)
        sizes = Log(table).sizes()
        done = 0
        for files in groups(sizes, target_bytes):
            done += len(files) if _replace(table, place, files, layout) else 0
            replaced(done)
        table.update_incremental()
        return Compaction(len(sizes), len(Log(table).sizes()), done, table.version())


def groups(sizes: Mapping[str, int], target_bytes: int) -> Iterator[list[str]]:
    """Neighbours among the files, each smaller than half of the target and at most the target together."""
    group: list[str] = []
    total = 0
    for name, size in sizes.items():
        is_small = size < target_bytes / 2
        if group and (not is_small or total + size > target_bytes):
            if len(group) > 1:
                yield group
            group, total = [], 0
        if is_small:
            group.append(name)
            total += size
    if len(group) > 1:
        yield group


def _replace(table: DeltaTable, place: Place, files: Sequence[str], layout: Layout) -> bool:
    """Put files together; False if another process has replaced one of them."""
    stem = PurePosixPath(files[0]).stem
    appended = _APPENDED.match(stem)
    # sorts like the first of the files, also after compactions of compactions
    file = f"{appended[0] if appended else stem}-{uuid4().hex}.parquet"
    try:
        rows, ranges = _merge(place, files, file, layout)
    except BaseException:
        place.remove(file)
        raise
    add = add_action(file, place.size(file), rows, ranges, data_change=False)
    if _commit(table, add, files, layout.schema):
        return True
    place.remove(file)  # after an error it stays: its entry may be in the log
    return False


def _merge(place: Place, files: Sequence[str], file: str, layout: Layout) -> tuple[int, Ranges]:
    """Write the rows of some files into one, in order; their number, and the ranges of the pruned columns."""
    rows = 0
    ranges: Ranges = {}
    with writing(file, place, layout.schema) as writer:
        for group in _row_groups(place, files, layout.schema):
            writer.write_table(group, row_group_size=_GROUP_EPISODES)
            rows += group.num_rows
            ranges = _widened(ranges, group, layout.pruned)
    return rows, ranges


def _row_groups(place: Place, files: Sequence[str], schema: Any) -> Iterator[Any]:
    """The rows of files as `pyarrow.Table`, bounded in number and in size."""
    parts: list[Any] = []
    episodes = size = 0
    for found in read(files, place, None, ALL, _GROUP_EPISODES):
        batch = completed(found, schema.names, schema)
        if parts and (episodes + batch.num_rows > _GROUP_EPISODES or size + batch.nbytes > _GROUP_BYTES):
            yield pa.Table.from_batches(parts)
            parts, episodes, size = [], 0, 0
        parts.append(batch)
        episodes += batch.num_rows
        size += batch.nbytes
    if parts:
        yield pa.Table.from_batches(parts)


def _widened(ranges: Ranges, group: Any, pruned: Sequence[str]) -> Ranges:
    """The ranges with the values of further rows."""
    found = {name: compute.min_max(group.column(name)).as_py() for name in pruned}
    return {
        name: (min(ends["min"], ranges[name][0]), max(ends["max"], ranges[name][1]))
        if name in ranges
        else (ends["min"], ends["max"])
        for name, ends in found.items()
    }


def _commit(table: DeltaTable, add: Any, files: Sequence[str], schema: Any) -> bool:
    """Add a file and remove others, all or nothing; False if one of those is not in the table any more."""
    now = int(time.time() * 1000)
    properties = CommitProperties(custom_metadata={COMPACTED: str(len(files))}, max_commit_retries=0)
    for attempt in range(_ATTEMPTS):
        table.update_incremental()
        present = Log(table).sizes()
        if add.path in present:  # it got in, though its answer was lost
            return True
        if not present.keys() >= set(files):
            return False
        removes = [RemoveAction(name, False, now, present[name], {}) for name in files]
        try:
            # without retries: only as the version after the one that was looked at
            table.create_write_transaction(
                [add, *removes], "append", Schema.from_arrow(schema), commit_properties=properties
            )
        except DeltaError:
            if attempt == _ATTEMPTS - 1:
                raise
        else:
            return True
    return False
