"""Speed of the store on typical episodes, compared with plain Parquet of the same data.

Both sides start from the same `Trajectory` objects in memory for appending and end with them for reading. The
plain side is the naive one: `model_dump()` of every episode into `write_table` of `pyarrow.parquet`. One more
line gives `write_table` of columns that are already Arrow, which is the share of disk and compression.
"""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from agentevol.cli.benchmarks.store.episodes import episode
from agentgym_store.jsonl import export_jsonl
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Comparison:
    """Seconds of both sides for the same operation."""

    what: str
    store_s: float
    plain_s: float | None
    """None where the plain side has no such operation."""

    @property
    def ratio(self) -> float | None:
        """Factor by which the store is faster."""
        return None if self.plain_s is None else self.plain_s / self.store_s

    def __str__(self) -> str:
        if self.plain_s is None:
            return f"{self.what}: store {self.store_s:.2f} s"
        return f"{self.what}: store {self.store_s:.2f} s, plain {self.plain_s:.2f} s, ratio {self.ratio:.1f}"


def timed(doing: Callable[[], ResultT]) -> tuple[float, ResultT]:
    """Seconds, and the result."""
    start = time.perf_counter()
    result = doing()
    return time.perf_counter() - start, result


def plain_write(episodes: list[Trajectory], file: Path) -> pa.Table:
    """Write `model_dump` of every episode into one Parquet file."""
    rows = []
    for one in episodes:
        row = one.model_dump()
        for turn in row["turns"]:
            del turn["info"], turn["costs"]  # empty here, and Parquet has no struct without fields
        rows.append(row)
    table = pa.Table.from_pylist(rows)
    pq.write_table(table, file, compression="zstd")
    return table


def plain_read(file: Path) -> list[Trajectory]:
    """Read every row through pydantic."""
    return [Trajectory.model_validate(_without_nulls(row)) for row in pq.read_table(file).to_pylist()]


def _without_nulls(row: dict[str, object]) -> dict[str, object]:
    ending = row["ending"]
    assert isinstance(ending, dict)
    return {**row, "ending": {name: value for name, value in ending.items() if value is not None}}


def size_mib(path: Path) -> float:
    """Size of a file, or of all files below a folder."""
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return sum(file.stat().st_size for file in files) / 2**20


def measure(count: int, folder: Path) -> list[Comparison]:
    """Append, scan, read and export of `count` episodes, each side once."""
    randomness = random.Random(0)
    episodes = [episode(index, randomness) for index in range(count)]
    store, plain = Store.open(folder / "table"), folder / "plain.parquet"
    append_s, _ = timed(lambda: store.append(episodes, commit={"run": "run", "iteration": "1"}))
    write_s, table = timed(lambda: plain_write(episodes, plain))
    arrow_s, _ = timed(lambda: pq.write_table(table, folder / "arrow.parquet", compression="zstd"))
    scan_s, _ = timed(lambda: store.scan().group_by("purpose").len().collect())
    plain_scan_s, _ = timed(
        lambda: pq.read_table(plain, columns=["purpose"]).group_by("purpose").aggregate([])
    )
    read_s, ours = timed(lambda: list(store.trajectories()))
    plain_read_s, theirs = timed(lambda: plain_read(plain))
    if not ours == episodes == theirs:
        raise RuntimeError("what was read back is not what was written")
    export_s, _ = timed(lambda: export_jsonl(episodes, folder / "all.jsonl"))
    return [
        Comparison("append", append_s, write_s),
        Comparison("append, plain already in Arrow", append_s, arrow_s),
        Comparison("scan, count by purpose", scan_s, plain_scan_s),
        Comparison("read back as Trajectory", read_s, plain_read_s),
        Comparison("export as JSON Lines", export_s, None),
    ]
