"""Speed of the store on 10,000 typical episodes, compared with plain Parquet of the same data.

Both sides start from the same `Trajectory` objects in memory for appending and end with them for reading. The
plain side is the naive one: `model_dump()` of every episode into `write_table` of `pyarrow.parquet`. One more
line gives `write_table` of columns that are already Arrow, which is the share of disk and compression.

    agentevol bench store [--json]
"""

import json as json_module
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from agentgym_store.jsonl import export_jsonl
from agentgym_store.records import Sample, Terminated, Trajectory, Truncated, Turn
from agentgym_store.store import Store

TURNS = 12
PROMPT_TOKENS = 160
SAMPLED_TOKENS = 8
OBSERVED_TOKENS = 12

EPISODES = 10_000
APPEND_BUDGET_S = 3

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


def episode(index: int, randomness: random.Random) -> Trajectory:
    """12 turns; the last prompt and its answer are about 400 tokens of a word-level vocabulary."""
    ids = tuple(randomness.randrange(1500) for _ in range(PROMPT_TOKENS))
    turns: list[Turn] = []
    for number in range(TURNS):
        sampled = tuple(randomness.randrange(1500) for _ in range(SAMPLED_TOKENS))
        logprobs = tuple(-randomness.random() for _ in range(SAMPLED_TOKENS))
        action = f"go to countertop {randomness.randrange(20)}"
        sample = Sample(text=action, prompt_ids=ids, token_ids=sampled, logprobs=logprobs, policy_version=3)
        seen = f"On the countertop {number}, you see a mug {randomness.randrange(9)}, and a spoon 2."
        turns.append(Turn(action=action, observation=seen, reward=float(number == TURNS - 1), sample=sample))
        ids = ids + sampled + tuple(randomness.randrange(1500) for _ in range(OBSERVED_TOKENS))
    return Trajectory(
        id=f"run/1/train-{index}/0",
        run="run",
        iteration=1,
        purpose="explore",
        env="alfworld",
        env_version="1.0.0",
        data_version="builtin:1.0.0",
        task_id=f"train-{index}",
        split="train",
        kind="pick_two_obj_and_place",
        difficulty="small",
        instruction="put two mugs in shelf.",
        seed=index,
        attempt=0,
        policy="checkpoint-1",
        initial_observation="You are in the middle of a room. Looking quickly around you, you see a shelf 1.",
        turns=tuple(turns),
        ending=Terminated() if index % 3 else Truncated(limit="max_turns"),
        started_at="2025-01-01T00:00:00Z",
        wall_s=1.5,
    )


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


def main(json: bool = False, count: int = EPISODES) -> None:
    """Measure and print."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        comparisons = measure(count, folder)
        sizes = {name: size_mib(folder / name) for name in ("table", "plain.parquet")}
    if json:
        rows = [{**asdict(comparison), "plain_over_store": comparison.ratio} for comparison in comparisons]
        found = {"benchmark": "store", "episodes": count, "figures": rows, "size_mib": sizes}
        print(json_module.dumps(found, indent=2))
        return
    print(f"{count:,} episodes, {count * TURNS:,} turns")
    print("\n".join(map(str, comparisons)))
    print(f"size: store {sizes['table']:.1f} MiB, plain {sizes['plain.parquet']:.1f} MiB")
    verdict = "kept" if comparisons[0].store_s <= APPEND_BUDGET_S * count / EPISODES else "MISSED"
    print(f"budget {APPEND_BUDGET_S} s for {EPISODES:,} episodes appended: {verdict}")
