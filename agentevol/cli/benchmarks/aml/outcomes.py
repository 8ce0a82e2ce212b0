"""Outcomes of trials, kept in a file as they come, so that an interrupted comparison goes on."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from agentevol.cli.benchmarks.aml.arms import Trial
from agentevol.cli.benchmarks.aml.figures import PlayFigures
from agentevol.core.errors import ConfigError
from agentgym_envs.core import Record
from agentgym_store.files import whole_file


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
    if file is None or not file.is_file():
        return []
    found = json.loads(file.read_text(encoding="utf-8"))
    if found["settings"] != json.loads(json.dumps(settings)):
        raise ConfigError(f"{file} has outcomes of other settings: name another file")
    return _OUTCOMES.validate_python(found["outcomes"])


def keep(file: Path | None, settings: Mapping[str, Any], outcomes: Sequence[Outcome]) -> None:
    """Write all outcomes."""
    if file is None:
        return
    told = {"settings": settings, "outcomes": [one.model_dump(mode="json") for one in outcomes]}
    with whole_file(file) as stream:
        stream.write((json.dumps(told, indent=1) + "\n").encode())
