"""Adaptive Mode Learning with one command, and its benchmark, at the smallest size."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.resolution import resolve
from agentgym_envs.thinking import check
from agentgym_store.records import MESSAGE
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("clean_environment")
FEW = ("explore.tasks=2", "explore.samples=4", "evaluate.episodes=4", "evaluate.validation_episodes=2")
ONE = ("engine.workers=1", "learn.threads=1")


def agentevol(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "agentevol", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


@pytest.mark.slow
@pytest.mark.parametrize("preset", ["aml", "aml-mode-2", "aml-sft"])
def test_a_preset_trains_from_the_packages_own_starter(tmp_path: Path, preset: str):
    out = tmp_path / "run"
    ran = agentevol("run", "--preset", preset, "--iters", "1", "--out", str(out), "env=social", *FEW, *ONE)
    assert ran.returncode == 0, ran.stderr
    folder = RunFolder.resume(out)
    last = folder.summaries.of(1)
    assert last is not None
    assert last.evaluation is not None
    assert last.evaluation.thinking is not None
    if preset == "aml":
        assert "mode_advantage_active" in last.learn
    explored = [one for one in folder.store.trajectories() if one.purpose == "explore"]
    assert len(explored) == 8
    for turn in (turn for one in explored for turn in one.turns):
        assert turn.sample is not None
        reply = check(turn.sample.text, strict=True)
        assert turn.info["mode"] in (reply.mode, -1)
        assert "begin_of_" not in turn.action  # the partner hears the answer alone
        if preset == "aml-mode-2":
            assert turn.sample.text.startswith("Thinking Level: 2")
            assert turn.sample.loss_mask is not None


@pytest.mark.slow
def test_a_base_that_is_no_agent_is_cloned_in_all_modes_first(tmp_path: Path):
    raw, out = tmp_path / "raw", tmp_path / "run"
    shutil.copytree(resolve("starter:social-modes").path, raw)
    (raw / "agentevol.json").unlink()
    few = (*FEW, *ONE, "demonstrations.tasks=24", f"base={raw}")
    ran = agentevol("run", "--preset", "aml", "--iters", "1", "--out", str(out), "env=social", *few)
    assert ran.returncode == 0, ran.stderr
    assert "cloning: " in ran.stdout + ran.stderr
    folder = RunFolder.resume(out)
    shown = [*folder.store.trajectories(Where(purpose="demonstrate"))]
    messages = [str(turn.info[MESSAGE]) for one in shown for turn in one.turns]
    assert len(shown) == 24
    assert {check(message, strict=True).mode for message in messages} == {1, 2, 3, 4}
    assert folder.checkpoints.accepted(0).path != folder.checkpoints.base().path
    last = folder.summaries.of(1)
    assert last is not None
    assert last.selected == 8  # then AMPO


@pytest.mark.slow
def test_the_benchmark_prints_the_table_and_goes_on_from_its_file(tmp_path: Path):
    file = tmp_path / "aml.json"
    small = ("--arms", "bc,bc-mode-1", "--tasks", "6", "--file", str(file), "--set", "engine.workers=1")
    ran = agentevol("bench", "aml", *small)
    assert ran.returncode == 0, ran.stderr
    for line in ("beside the partner: ", "self-play, both seats: ", "replies by turn and mode, self"):
        assert line in ran.stdout
    outcomes = json.loads(file.read_text())["outcomes"]
    assert [one["arm"] for one in outcomes] == ["bc", "bc, mode 1"]
    forced = outcomes[1]["plays"]["partner"]["thinking"]
    assert set(forced["by_mode"]) <= {"1"}
    again = agentevol("bench", "aml", *small)
    assert again.stdout == ran.stdout
