"""Files of a data set: rows are collected in one file for each split, which can be cut off anywhere, and are
divided into the files of the data set at the end.

    train.rows  ->  data/train-00000-of-00002.jsonl, data/train-00001-of-00002.jsonl
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from agentgym_envs.files import file_sha256, flush_to_disk
from agentgym_store.arrow import pa, parquet
from agentgym_store.exports.contract import ExportFormat
from agentgym_store.exports.parquet import exported_batch, exported_schema
from agentgym_store.exports.writing.grouping import read_streams, stream_of
from agentgym_store.exports.writing.plan import Plan

_GROUP_ROWS = 1024
_GROUP_BYTES = 64 * 2**20


@dataclass(frozen=True)
class DataFile:
    """A finished file of a data set."""

    name: str
    """Path within the data set."""
    split: str
    size: int
    """In bytes."""
    sha256: str


class Spools:
    """Rows of each split that are not yet divided into files."""

    def __init__(self, folder: Path, splits: Sequence[str], sizes: Mapping[str, int]) -> None:
        """Open the files, cut to `sizes`; what is not named is emptied."""
        self.paths = {split: folder / f"{split}.rows" for split in splits}
        self._files: dict[str, BinaryIO] = {}
        for split, path in self.paths.items():
            path.touch()
            os.truncate(path, sizes.get(split, 0))
            self._files[split] = path.open("ab")

    def write(self, split: str, rows: Iterable[bytes]) -> None:
        """Append rows, or blocks of them."""
        self._files[split].writelines(rows)

    def sync(self) -> dict[str, int]:
        """Bring everything to disk; the sizes."""
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
        return {split: file.tell() for split, file in self._files.items()}

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()


def encoded(export_format: ExportFormat, rows: Sequence[Any]) -> Iterator[bytes]:
    """Rows as they are collected: a line each, or one block of all for Parquet."""
    if export_format.layout == "parquet":
        if rows:
            yield stream_of([exported_batch(rows)], exported_schema())
        return
    for row in rows:
        yield export_format.text(row).encode() + b"\n"


class Cuts:
    """Rows at which a file ends and the next one begins."""

    def __init__(self, rows: int, plan: Plan, single: bool) -> None:
        count = 1 if single else min(plan.shards or 0, max(rows, 1))
        self._starts = {rows * number // count for number in range(1, count)} if count else None
        self._limit = plan.shard_bytes

    def is_before(self, row: int, size: int) -> bool:
        """True if a new file begins with this row, where the present one has this size in bytes."""
        return size >= self._limit if self._starts is None else row in self._starts

    def next_after(self, row: int) -> int | None:
        """The first row after this one that begins a new file, where that is known."""
        return min((start for start in self._starts or () if start > row), default=None)


def divided(
    spool: Path, rows: int, split: str, export_format: ExportFormat, plan: Plan, target: Path, single: bool
) -> list[DataFile]:
    """Divide the rows of a split into files of the data set's folder `target`; `single`: into the file
    `target`.
    """
    folder = target.parent if single else target / "data"
    folder.mkdir(parents=True, exist_ok=True)
    write = {"lines": _lines, "array": _array, "parquet": _parquet}[export_format.layout]
    parts = write(spool, Cuts(rows, plan, single), folder / f".{split}")
    count = len(parts)
    names = [f"{split}-{number:05d}-of-{count:05d}{export_format.suffix}" for number in range(count)]
    found: list[DataFile] = []
    for part, name in zip(parts, [target.name] if single else names, strict=True):
        file = part.rename(folder / name)
        flush_to_disk(file)
        shown = name if single else f"data/{name}"
        found.append(DataFile(shown, split, file.stat().st_size, file_sha256(file)))
    return found


def _lines(spool: Path, cuts: Cuts, stem: Path) -> list[Path]:
    parts = [stem.with_suffix(".0")]
    with spool.open("rb") as lines, ExitStack() as stack:
        file = stack.enter_context(parts[-1].open("wb"))
        for row, line in enumerate(lines):
            if row and cuts.is_before(row, file.tell()):
                file.close()
                parts.append(stem.with_suffix(f".{len(parts)}"))
                file = stack.enter_context(parts[-1].open("wb"))
            file.write(line)
    return parts


def _array(spool: Path, cuts: Cuts, stem: Path) -> list[Path]:
    """One JSON array in each file, a row a line."""
    parts = _lines(spool, cuts, stem)
    for part in parts:
        array = part.with_name(part.name + ".array")
        with part.open("rb") as lines, array.open("wb") as file:
            file.write(b"[")
            for row, line in enumerate(lines):
                file.write(b",\n" if row else b"\n")
                file.write(line.removesuffix(b"\n"))
            file.write(b"\n]\n")
        array.replace(part)
    return parts


def _parquet(spool: Path, cuts: Cuts, stem: Path) -> list[Path]:
    parts: list[Path] = []
    for batches in _by_file(read_streams(spool), cuts):
        parts.append(stem.with_suffix(f".{len(parts)}"))
        _write_parquet(batches, parts[-1])
    if not parts:
        parts.append(stem.with_suffix(".0"))
        _write_parquet([], parts[0])
    return parts


def _by_file(batches: Iterator[Any], cuts: Cuts) -> Iterator[Iterator[Any]]:
    """Rows of each file, to be read one file after the other."""
    pieces = _pieces(batches, cuts)
    row = 0
    first = next(pieces, None)

    def file() -> Iterator[Any]:
        nonlocal row, first
        size = 0
        while first is not None and not (size and cuts.is_before(row, size)):
            row, size = row + first.num_rows, size + first.nbytes
            yield first
            first = next(pieces, None)

    while first is not None:
        yield file()


def _pieces(batches: Iterator[Any], cuts: Cuts) -> Iterator[Any]:
    """Batches that are cut where a file is known to begin."""
    row = 0
    for batch in batches:
        start = 0
        while start < batch.num_rows:
            cut = cuts.next_after(row)
            length = batch.num_rows - start if cut is None else min(batch.num_rows - start, cut - row)
            yield batch.slice(start, length)
            start, row = start + length, row + length


def _write_parquet(batches: Iterable[Any], file: Path) -> None:
    schema = exported_schema()
    with parquet.ParquetWriter(file, schema, compression="zstd", store_schema=False) as writer:
        for group in _row_groups(batches):
            writer.write_table(pa.Table.from_batches(group, schema), row_group_size=_GROUP_ROWS)


def _row_groups(batches: Iterable[Any]) -> Iterator[list[Any]]:
    """Batches that are written together."""
    group: list[Any] = []
    for batch in batches:
        group.append(batch)
        rows, size = sum(one.num_rows for one in group), sum(one.nbytes for one in group)
        if rows >= _GROUP_ROWS or size >= _GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group
