"""Contract of an export format: a class whose keyword-only arguments are its options.

    class Greetings(ExportFormat):
        name = "greetings"
        suffix, layout = ".jsonl", "lines"
        summary = "The first action of every episode."
        loses = ("everything else",)

        def rows(self, episodes, tally):
            for episode in episodes:
                yield Exported({"text": episode.turns[0].action}, (episode,))

Formats that need the learners' code (preference pairs) are in `agentevol.data.exports`; all of them go
through `agentgym_store.exports.writing`, which filters, drops repeated rows, splits, shards and describes.
"""

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, NamedTuple

from agentgym_store.errors import StoreError, one_line
from agentgym_store.records import Trajectory

Layout = Literal["lines", "array", "parquet"]
"""Layout of a file: JSON Lines, one JSON array, or Parquet with a row for each episode."""
RowKind = Literal["episode", "turn"]
"""Kind of row: a whole episode, or one turn of it."""
Feature = dict[str, Any]
"""A column as the header of a Hugging Face data set card describes it."""


class Exported(NamedTuple):
    """A row, and the episodes that it was made of; all of them are of one task."""

    row: Any
    episodes: tuple[Trajectory, ...]


@dataclass
class Tally:
    """Counts of an export, which survive its interruption."""

    left_out: Counter[str] = field(default_factory=Counter[str])
    """Reason -> number of episodes, or of rows, that are left out."""
    numbers: Counter[str] = field(default_factory=Counter[str])
    """Name -> next number, for formats that number their rows."""

    @classmethod
    def of(cls, state: Mapping[str, Mapping[str, int]] | None) -> "Tally":
        """The counts that `as_state` saved."""
        saved = state or {}
        return cls(Counter(saved.get("left_out", {})), Counter(saved.get("numbers", {})))

    def as_state(self) -> dict[str, dict[str, int]]:
        """The counts as a JSON value."""
        return {"left_out": dict(self.left_out), "numbers": dict(self.numbers)}


class ExportFormat(ABC):
    """A data set format. Instances have no state: what counts is in the `Tally`."""

    name: ClassVar[str]
    suffix: ClassVar[str]
    """Suffix of a file, with the dot."""
    layout: ClassVar[Layout]
    summary: ClassVar[str]
    """Description of a row in one sentence."""
    loses: ClassVar[tuple[str, ...]]
    """Contents that the format cannot hold, a phrase each; () if an import restores every field."""
    by_task: ClassVar[bool] = False
    """True if rows are made of all episodes of a task together."""
    needs_contexts: ClassVar[bool] = False
    """True if rows hold the token ids of prompts, and log-probabilities; else samples come without."""
    distinct: ClassVar[bool] = False
    """Whether repeated rows are dropped unless an export says otherwise."""
    trainer: ClassVar[str] = ""
    """The trainer of TRL that learns from the rows unchanged; empty if there is none."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options by name, for a data card."""
        return {}

    @property
    def features(self) -> list[Feature] | None:
        """Columns of a row; None where the files themselves tell them."""
        return None

    @abstractmethod
    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """Rows of a part of the episodes; what is left out is counted.

        With `by_task` the part has all episodes of its tasks, else each row depends on its episode alone.
        Raises `StoreError`.
        """

    def numbered(self, exported: Exported, tally: Tally) -> Any:
        """The row as it is written, with its number where rows have one; called once for every written
        row.
        """
        return exported.row

    def text(self, row: Any) -> str:
        """A row as one line of JSON, of the layouts that are text. Raises `StoreError` for a number that is
        not finite.
        """
        try:
            return json.dumps(row, ensure_ascii=False, allow_nan=False)
        except ValueError as cause:
            raise StoreError(f"a row cannot be written as JSON: {one_line(cause)}") from cause

    def content(self, row: Any) -> object:
        """The part of a row, as a JSON value, by which it is a repetition of another one."""
        return {name: value for name, value in row.items() if name not in ("meta", "id", "item_id")}
