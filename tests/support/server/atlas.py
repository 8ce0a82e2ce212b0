"""Environment over one large file: each record of it is the name of a place, and most of it is empty."""

from collections.abc import Sequence
from pathlib import Path

from agentgym_envs.assets import mapped
from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound

RECORD = 4096
"""Bytes of a record: its name, then zeros."""


def write_atlas(path: Path, records: int, every: int) -> Path:
    """A sparse file of that many records, in which every so many have a name."""
    with path.open("wb") as file:
        for number in range(0, records, every):
            file.seek(number * RECORD)
            file.write(f"place {number}".encode())
        file.truncate(records * RECORD)
    return path


class Atlas(Environment[Task]):
    """An action is the number of a record, whose name is read; `sweep N` reads the first N records.

    `place 0` earns 1. The file is mapped, never read as a whole.
    """

    name = "atlas"
    max_turns = 50
    baselines = {"idle": (0.0, 0.0), "spray": (1.0, 1.0)}  # noqa: RUF012 - a class fact

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data: memoryview | bytes = b""

    @property
    def assets(self) -> tuple[Path, ...]:
        """The file."""
        return (self._path,)

    @property
    def splits(self) -> tuple[str, ...]:
        """One split."""
        return ("train",)

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        """One task."""
        if split not in self.splits:
            raise TaskNotFound(split)
        if difficulty is not None:
            raise ValueError(difficulty)
        return [self.task("train/0")]

    def task(self, task_id: str) -> Task:
        """`train/0`."""
        if task_id != "train/0":
            raise TaskNotFound(task_id)
        return Task(env=self.name, id=task_id, split="train", instruction="Find the first place.")

    def reset(self, task: Task, seed: int) -> Observation:
        """Open the file."""
        self._data = self.opened(self._path)
        return Observation(text=task.instruction)

    def opened(self, path: Path) -> memoryview | bytes:
        """The bytes of the file."""
        return mapped(path)

    def step(self, action: str) -> StepResult:
        """Read a record."""
        word, _, count = action.partition(" ")
        if word == "sweep" and _is_number(count):
            size = min(int(count) * RECORD, len(self._data))
            found = sum(self._data[place] == ord("p") for place in range(0, size, RECORD))
            return StepResult(observation=Observation(text=f"{found} places"))
        if not _is_number(action) or int(action) * RECORD >= len(self._data):
            return StepResult(observation=Observation(text="No record."), info={"invalid_action": True})
        place = int(action) * RECORD
        text = bytes(self._data[place : place + RECORD]).rstrip(b"\0").decode() or "nothing"
        won = text == "place 0"
        return StepResult(observation=Observation(text=text), reward=float(won), terminated=won)


class Greedy(Atlas):
    """As `Atlas`, but with a copy of the file in each episode."""

    def opened(self, path: Path) -> memoryview | bytes:
        """A copy."""
        return path.read_bytes()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9
