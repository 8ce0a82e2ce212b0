"""Outcomes of trials, and those of a file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agentevol.cli.benchmarks.aml.arms import Trial
from agentevol.cli.benchmarks.aml.figures import PlayFigures
from agentevol.cli.benchmarks.kept_outcomes import kept_records
from agentgym_envs.core import Record


class Outcome(Record):
    """Figures of an arm with a seed."""

    arm: str
    seed: int
    minutes: float
    """Training and play, wall clock."""
    plays: dict[str, PlayFigures]
    """By way of playing: `partner`, `self`."""

    @property
    def trial(self) -> Trial:
        """The trial."""
        return Trial(self.arm, self.seed)


_OUTCOMES = TypeAdapter(list[Outcome])


def kept(file: Path | None, settings: Mapping[str, Any]) -> list[Outcome]:
    """Outcomes in a file; none without one. Raises `ConfigError` for a file of other settings."""
    return _OUTCOMES.validate_python(kept_records(file, settings))
