"""Plan of an export: the division of its rows into splits and files."""

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from agentgym_store.errors import StoreError

TRAIN, VALID = "train", "valid"
SHARD_BYTES = 500_000_000
"""Size of a file after which the next one begins, as Hugging Face recommends."""
SUFFIXES = (".json", ".jsonl", ".ndjson", ".parquet")
"""Suffixes of a name that is meant as one file; any other name is that of a folder."""


@dataclass(frozen=True)
class Plan:
    """Division of rows. A folder has a data card and its files; a single file has no splits or shards."""

    valid: float = 0.0
    """Share of the tasks in the split `valid`."""
    shards: int | None = None
    """Files of each split; None: as many as `shard_bytes` makes."""
    shard_bytes: int = SHARD_BYTES
    """Size of a file in bytes, after which the next one begins. Parquet is measured before compression."""
    distinct: bool | None = None
    """True drops rows with the content of an earlier one; None is the format's own default."""

    @property
    def splits(self) -> tuple[str, ...]:
        """Names of the splits."""
        return (TRAIN, VALID) if self.valid else (TRAIN,)

    def split_of(self, env: str, task_id: str) -> str:
        """The split of a task, by the hash of its name: the same in every export, whatever else is in it."""
        if not self.valid:
            return TRAIN
        place = int.from_bytes(sha256(f"{env}/{task_id}".encode()).digest()[:8], "big") / 2**64
        return VALID if place < self.valid else TRAIN


def is_file(out: Path) -> bool:
    """True if the name is that of a single file."""
    return out.suffix.lower() in SUFFIXES


def check(out: Path, plan: Plan) -> None:
    """Raise `FileExistsError`, or `StoreError` where a single file cannot hold the plan."""
    if out.exists():
        raise FileExistsError(17, "the file exists" if out.is_file() else "the folder exists", str(out))
    if not 0 <= plan.valid < 1:
        raise StoreError(f"a share of valid tasks lies in [0, 1), unlike {plan.valid}")
    is_sized = plan.shard_bytes != SHARD_BYTES
    if is_sized and plan.shards is not None:
        raise StoreError("a number of shards and their size exclude each other: give one of them")
    if is_file(out) and (plan.valid or is_sized or plan.shards is not None):
        raise StoreError(
            f"{out} is one file, which has no splits or shards: name a folder, without {out.suffix}"
        )
    if is_file(out) and not out.absolute().parent.is_dir():
        raise StoreError(f"cannot write {out}: there is no folder {out.absolute().parent}")
