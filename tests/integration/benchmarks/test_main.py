"""The runner of experiments names each of them, and passes on its options."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import EXPERIMENTS, main

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_shows_its_options(name: str, capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        import_module(f"benchmarks.{name}").main(["--help"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m benchmarks {name} [-h]")


def test_the_options_after_a_name_are_its_own(monkeypatch: pytest.MonkeyPatch):
    given = list[list[str]]()
    monkeypatch.setattr("benchmarks.merge.main", given.append)
    main(["merge", "--json"])
    assert given == [["--json"]]


def test_an_unknown_name_is_refused_with_those_there_are(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as stopped:
        main(["nothing"])
    assert stopped.value.code == 2
    assert "choose from 'baselines', 'credit', 'goals'" in capsys.readouterr().err


def test_the_runner_is_a_program_of_the_repository():
    command = [sys.executable, "-m", "benchmarks", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("usage: python -m benchmarks NAME [OPTIONS]")
    assert all(f"  {name} " in done.stdout for name in EXPERIMENTS)
