"""Trials of a comparison: in the order they were asked for, kept, and not repeated."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from agentevol.core.errors import ConfigError
from benchmarks.trials import tried


@dataclass(frozen=True)
class Trial:
    """A number to be squared."""

    number: int
    place: Path = field(default=Path(), compare=False)


@dataclass(frozen=True)
class Outcome:
    """Its square, and how it came."""

    trial: Trial
    square: int
    parts: tuple[int, ...] = ()


def squared(trial: Trial) -> Outcome:
    if trial.number < 0:
        raise ValueError("a negative number")
    return Outcome(trial, trial.number**2, (trial.number, trial.number))


def squares(numbers: list[int], file: Path | None = None, **settings: Any) -> list[int]:
    outcomes = tried(
        [Trial(number) for number in numbers],
        squared,
        Outcome,
        settings=settings,
        processes=2,
        file=file,
        say=lambda outcome: f"{outcome.trial.number} -> {outcome.square}",
    )
    return [outcome.square for outcome in outcomes]


def test_outcomes_come_in_the_order_of_the_trials_each_said_once(capsys: pytest.CaptureFixture[str]):
    assert squares([3, 1, 2]) == [9, 1, 4]
    assert sorted(capsys.readouterr().out.splitlines()) == ["1 -> 1", "2 -> 4", "3 -> 9"]


def test_what_is_in_the_file_is_not_tried_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "squares.json"
    assert squares([3, 1], file, rounds=5) == [9, 1]
    text = file.read_text().replace('"square": 9', '"square": 10')  # as if it had been another's finding
    file.write_text(text)
    capsys.readouterr()
    assert squares([3, 1, 4], file, rounds=5) == [10, 1, 16]
    assert capsys.readouterr().out.splitlines() == ["4 -> 16"]
    assert len(json.loads(file.read_text())["outcomes"]) == 3


def test_a_file_of_other_settings_is_refused(tmp_path: Path):
    file = tmp_path / "squares.json"
    squares([3], file, rounds=5)
    with pytest.raises(ConfigError, match="other settings"):
        squares([3], file, rounds=6)


def test_what_came_before_a_failure_is_kept(tmp_path: Path):
    file = tmp_path / "squares.json"
    squares([3], file)
    with pytest.raises(ValueError, match="negative"):
        squares([3, -1], file)
    assert [one["square"] for one in json.loads(file.read_text())["outcomes"]] == [9]
