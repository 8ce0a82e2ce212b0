"""Trials of a benchmark: what is kept, what is made, in this process and in several."""

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.squares import Square, refused, squared
from support.trajectories import trajectory

from agentevol.cli.benchmarks.kept_outcomes import kept_records
from agentevol.cli.benchmarks.play import play_tasks
from agentevol.cli.benchmarks.trials import completed
from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.core.errors import RunStopped
from agentgym_store.records import Failed

SETTINGS = {"env": "guess"}


@pytest.mark.parametrize("jobs", [1, 2])
def test_only_missing_outcomes_are_made_and_all_are_kept(
    tmp_path: Path, jobs: int, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "outcomes.json"
    found = {2: Square(number=2, square=-1, process=0)}
    outcomes = completed([3, 2, 1], found, squared, file, SETTINGS, jobs)
    assert [(one.number, one.square) for one in outcomes] == [(3, 9), (2, -1), (1, 1)]
    kept = kept_records(file, SETTINGS, Square)
    assert sorted(one.number for one in kept) == [1, 2, 3]
    own = {one.process == os.getpid() for one in outcomes if one.number != 2}
    assert own == {jobs == 1}
    told = capfd.readouterr().err
    assert ("[3] measuring 3\n" in told) == (jobs == 2)
    assert "measuring 2" not in told


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_is_raised_and_what_was_made_stays_kept(tmp_path: Path, jobs: int) -> None:
    file = tmp_path / "outcomes.json"
    with pytest.raises(RunStopped, match="trial 1 lost its episodes"):
        completed([0, 1, 2, 3, 4, 5], {}, refused, file, SETTINGS, jobs)
    kept = {one.number for one in kept_records(file, SETTINGS, Square)}
    assert kept == {0} if jobs == 1 else 0 in kept  # several may be done before the others are cancelled
    assert 1 not in kept


def test_a_command_that_is_killed_goes_on_from_its_file(tmp_path: Path) -> None:
    file = tmp_path / "outcomes.json"
    program = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from agentevol.cli.benchmarks.trials import completed
from support.squares import squared
def dies(number):
    if number == 2:
        os.kill(os.getpid(), 9)
    return squared(number)
completed([1, 2, 3], {{}}, dies, Path({str(file)!r}), {SETTINGS})
"""
    killed = subprocess.run([sys.executable, "-c", program], check=False)
    assert killed.returncode == -9
    assert [one["number"] for one in json.loads(file.read_text())["outcomes"]] == [1]
    found = {one.number: one for one in kept_records(file, SETTINGS, Square)}
    outcomes = completed([1, 2, 3], found, squared, file, SETTINGS)
    assert [one.square for one in outcomes] == [1, 4, 9]
    assert outcomes[0].process != os.getpid()


@pytest.mark.parametrize(("lost", "stops"), [(5, False), (6, True)])
def test_a_play_that_lost_more_episodes_than_a_run_accepts_has_no_outcome(
    monkeypatch: pytest.MonkeyPatch, lost: int, stops: bool
) -> None:
    broken = Failed(failure="internal", detail="no answer within 60 s")
    whole = [trajectory(id=f"episode/{number}") for number in range(100)]
    told = [
        one.model_copy(update={"ending": broken}) if place < lost else one for place, one in enumerate(whole)
    ]

    def trial(*_: Any, **__: Any) -> SimpleNamespace:
        return SimpleNamespace(trajectories=told, episodes=told)

    monkeypatch.setattr("agentevol.cli.benchmarks.play.trial", trial)
    given: dict[str, Any] = {"seed": 0, "temperature": 0.0}
    if not stops:
        assert play_tasks("idle", EnvironmentConfig(name="guess"), "test", 100, **given) == told
        return
    with pytest.raises(RunStopped, match=r"6 of 100 episodes failed.*no answer within 60 s"):
        play_tasks("idle", EnvironmentConfig(name="guess"), "test", 100, **given)
