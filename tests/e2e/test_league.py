"""A league on real processes: killed and resumed, it has the partners and metrics of a calm run."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from agentgym_store.errors import StoreError
from agentgym_store.records import Trajectory
from agentgym_store.store import Store, Where

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
TASKS, SAMPLES = 8, 2


def command(out: Path) -> list[str]:
    settings = (
        "env=social",
        "name=same",
        "environment.seats=2",
        "environment.max_turns=4",
        "environment.options.families=split,schedule",
        "environment.partner=idle",  # of the evaluations
        "selfplay.partner=league",
        "selfplay.latest=0.3",
        "selfplay.scripted.idle=0.25",
        "algorithm=dr_grpo",
        "learn.options.baseline=seat",
        "learn.options.entropy_coef=0.1",  # nothing is earned in four turns: what is learnt is to vary
        "learn.threads=1",
        f"explore.tasks={TASKS}",
        f"explore.samples={SAMPLES}",
        "explore.commit_every=1",
        "evaluate.episodes=2",
        "evaluate.validation_episodes=2",
        "engine.workers=1",
        "engine.slots=2",  # one episode at a time, so that there is a moment to be killed in
        "engine.threads=1",
    )
    return [sys.executable, "-m", "agentevol", "run", "--iters", "2", "--out", str(out), *settings]


def finished(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def played(out: Path, purpose: str, iteration: int = 2) -> list[Trajectory]:
    try:
        found = list(
            Store.open(out / "trajectories").trajectories(Where(purpose=purpose, iteration=iteration))
        )
    except (StoreError, OSError):  # not begun
        return []
    explored = f"/explore/{iteration:04d}/"  # evaluations have partners, too
    return sorted((one for one in found if explored in one.id), key=lambda one: one.id)


def kill_amid_the_second_round(words: list[str], out: Path) -> None:
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
        while not (out / "iterations" / "0001.json").exists() and run.poll() is None:
            time.sleep(0.1)
        while not played(out, "partner") and run.poll() is None:
            time.sleep(0.05)
        assert run.poll() is None
        run.kill()


def noted(out: Path) -> list[Any]:
    """Manifest of the league, its table, and the figures of the baseline and of the returns."""
    manifests, summaries = (
        [json.loads((out / folder / f"{number:04d}.json").read_text()) for number in (1, 2)]
        for folder in ("manifests", "iterations")
    )
    names = ("baseline_social_seat_0", "baseline_social_seat_1", "league_reward_worst", "success", "tasks")
    return [
        [one["league"] for one in manifests],
        [one["league"] for one in summaries],
        [(one["seats"], one["further_seats"], one["explored"]) for one in summaries],
        [{name: one["selection"].get(name) for name in names} for one in summaries],
        [one["evaluation"]["mean_reward"] for one in summaries],
        [one["learn"]["reward_mean"] for one in summaries],
    ]


def test_a_league_killed_amid_a_round_goes_on_with_the_same_partners(tmp_path: Path):
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    told = finished(command(calm))
    # of the eight tasks by this seed: two alone and six beside the script, then four alone
    assert "iteration 1: league, latest: 4 episodes" in told
    assert "iteration 1: league, idle: 12 episodes" in told
    assert "iteration 2: league, 0000: 8 episodes" in told
    beside_idle = {one.episode for one in played(calm, "partner", 1)}
    assert {one.seat for one in played(calm, "explore", 1) if one.episode in beside_idle} == {0, 1}
    explored, partners = played(calm, "explore"), played(calm, "partner")
    assert {one.policy for one in partners} == {"0000"}
    assert {one.policy for one in explored} == {"0001"}
    assert {turn.sample.policy_version for one in partners for turn in one.turns if turn.sample} == {0}
    assert "League" in (calm / "report.html").read_text()
    first, second = (
        (calm / "checkpoints" / name / "model.safetensors").read_bytes() for name in ("0000", "0001")
    )
    assert first != second

    kill_amid_the_second_round(command(rough), rough)
    assert 0 < len({one.episode for one in played(rough, "explore")}) < TASKS * SAMPLES
    finished([sys.executable, "-m", "agentevol", "run", "--resume", str(rough)])
    for mine, other in zip(noted(rough), noted(calm), strict=True):
        assert mine == other
    assert [(one.id, one.policy, one.seat) for one in played(rough, "partner")] == [
        (one.id, one.policy, one.seat) for one in partners
    ]
