"""Scores of players without a model, which no hash seed and no order of files may change."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.registry import names

pytestmark = pytest.mark.slow


def rows(home: Path, hash_seed: int) -> list[dict[str, Any]]:
    """Rows of `agentevol bench baselines --all`, in a process of its own."""
    command = [sys.executable, "-m", "agentevol", "bench", "baselines", "--all"]
    command += ["--tasks", "2", "--jobs", "2", "--json"]
    environment = {**os.environ, "AGENTEVOL_HOME": str(home), "PYTHONHASHSEED": str(hash_seed)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["rows"]


def copied(source: Path, target: Path) -> None:
    """Copy a folder with its files made in the opposite order of their names."""
    target.mkdir()
    for path in sorted(source.iterdir(), reverse=True):
        if path.is_dir():
            copied(path, target / path.name)
        else:
            (target / path.name).write_bytes(path.read_bytes())


def test_baselines_are_equal_under_another_hash_seed_on_a_copied_data_folder(tmp_path: Path):
    home, copy = tmp_path / "home", tmp_path / "copy"
    first = rows(home, 1)
    copied(home, copy)
    assert rows(copy, 2) == first
    assert not [row for row in first if row["failed"]]
    # all others are installed everywhere: those of extras need a package, or Java
    assert set(names()) - {row["env"] for row in first} <= {"babyai", "sciworld", "sotopia"}
    assert any(0 < score["mean"] < 1 for row in first for score in row["scores"].values() if score)
