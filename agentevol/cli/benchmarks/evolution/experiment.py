"""Interface of an experiment, and the rows of its table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from agentgym_envs.core import Record


class Row(Record):
    """Figures of an arm with a seed."""

    arm: str
    seed: int
    figures: dict[str, float]
    """By name; a figure that is not there has no value in this arm."""
    curves: dict[str, list[float]] = Field(default_factory=dict[str, list[float]])
    """Figures by iteration, from the first one."""


class Trial(NamedTuple):
    """A part of an experiment with a seed."""

    part: str
    seed: int

    def __str__(self) -> str:
        return f"{self.part}, seed {self.seed}"


class Outcome(Record):
    """Rows of a part of an experiment with a seed."""

    part: str
    seed: int
    minutes: float
    """Wall clock."""
    rows: list[Row]


class Column(NamedTuple):
    """A column of the table."""

    figure: str
    title: str
    decimals: int


@dataclass(frozen=True)
class Scale:
    """Size of an experiment."""

    rounds: int
    """Iterations of each training."""
    tasks: int
    """Held-out tasks of each measurement."""
    settings: tuple[str, ...] = ()
    """Settings over those of all runs, as `agentevol run` has them."""


@dataclass(frozen=True)
class Experiment:
    """An experiment of several parts, each of which is trained and measured with each seed."""

    title: str
    """Heading of the table."""
    arms: Sequence[str]
    """Rows of the table, in this order."""
    control: str
    """Arm from which the differences of all others are taken."""
    columns: Sequence[Column]
    parts: Sequence[str]
    """Trainings; one may have several rows."""
    rows: Callable[[str, int, Path, Path, Scale], list[Row]]
    """Training and measurement of a part with a seed, in the last folder, which is empty; the folder before
    is that of `prepare`.
    """
    prepare: Callable[[Path, Scale], None] = lambda folder, scale: None
    """Makes in an empty folder what all parts have in common."""
    beside: Mapping[str, str] = field(default_factory=dict[str, str])
    """Arm -> another arm from which its difference is taken, too."""
    curves: Mapping[str, str] = field(default_factory=dict[str, str])
    """Title by figure of an iteration."""
