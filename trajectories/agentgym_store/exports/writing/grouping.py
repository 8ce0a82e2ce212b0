"""Episodes of a task together, in bounded memory: they are distributed over files by the hash of their task.

A table holds the episodes of a task wherever they were appended. What does not fit in memory is read once and
written to temporary files, of which each has all episodes of its tasks, and is read back whole.
"""

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from agentgym_store.arrow import SCHEMA, pa
from agentgym_store.exports.writing.sources import Source
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch

BUCKET_TURNS = 50_000
"""Turns of the episodes that are in memory together."""
MOST_BUCKETS = 512


def bucket_count(turns: int) -> int:
    """Number of temporary files for so many turns; 1 needs none."""
    return min(MOST_BUCKETS, max(1, -(-turns // BUCKET_TURNS)))


def distribute(source: Source, folder: Path, buckets: int) -> None:
    """Write the episodes of the source to `buckets` files of the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for batch, _ in source.batches():
        by_bucket: dict[int, list[int]] = {}
        names = zip(batch.column("env").to_pylist(), batch.column("task_id").to_pylist(), strict=True)
        for row, (env, task_id) in enumerate(names):
            by_bucket.setdefault(zlib.crc32(f"{env}/{task_id}".encode()) % buckets, []).append(row)
        for bucket, rows in by_bucket.items():
            append_stream(folder / f"{bucket:04d}.arrow", [batch.take(rows)], SCHEMA)


def bucket(source: Source, folder: Path, number: int) -> list[Trajectory]:
    """The selected episodes of one file, in the order of the table."""
    batches = read_streams(folder / f"{number:04d}.arrow")
    return list(source.selection.of(t for batch in batches for t in from_batch(batch, contexts=False)))


def append_stream(file: Path, batches: Sequence[Any], schema: Any) -> None:
    """Append rows to a file, as one Arrow stream after the others."""
    with file.open("ab") as sink:
        sink.write(stream_of(batches, schema))


def stream_of(batches: Sequence[Any], schema: Any) -> bytes:
    """Rows as one Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def read_streams(file: Path) -> Iterator[Any]:
    """Rows of a file of Arrow streams, none where there is no file."""
    if not file.exists():
        return
    with pa.OSFile(str(file), "rb") as stream:
        size = stream.size()
        while stream.tell() < size:
            yield from pa.ipc.open_stream(stream)
