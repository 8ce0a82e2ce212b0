"""A run whose rewards a judge service gives, on real processes; and with a judge that dies in it."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.judging import endpoint, judge_service
from support.tiny_models import GUESS_RUN

from agentevol.data.judges.records import judgements_file
from agentgym_store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
EPISODES = 16


def run(model: Path, out: Path, service: str) -> "subprocess.CompletedProcess[str]":
    """One iteration of 4 tasks with 4 episodes each."""
    settings = [
        f"base={model}",
        *GUESS_RUN,
        "explore.samples=4",
        "evaluate.episodes=4",
        "engine.workers=1",
        "algorithm=grpo",
        "reward.judge=service",
        "reward.patience=null",  # validation episodes are not judged, too
        f"reward.options.url={service}",
    ]
    words = [sys.executable, "-m", "agentevol", "run", "--iters", "1", "--out", str(out), *settings]
    return subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)


def summary(out: Path) -> dict[str, Any]:
    """Figures of the iteration."""
    return json.loads(next((out / "iterations").glob("*.json")).read_text())


def verdicts(out: Path) -> Path:
    """File of the verdicts on the explored episodes."""
    return judgements_file(out, "0001")


def test_a_run_is_trained_on_a_services_scores(tiny_model: Path, tmp_path: Path) -> None:
    with endpoint() as (url, _), judge_service("--judge=openai:ok", f"--url={url}") as (service, _):
        done = run(tiny_model, tmp_path / "run", service)
    assert done.returncode == 0, done.stderr
    told = summary(tmp_path / "run")
    assert sum(told["explored"].values()) == EPISODES
    assert not [kind for kind in told["explored"] if kind.startswith("failed")]
    assert verdicts(tmp_path / "run").exists()


def test_episodes_that_a_dying_judge_leaves_are_failed_and_the_run_goes_on(
    tiny_model: Path, tmp_path: Path
) -> None:
    """The endpoint kills itself at its tenth call."""
    judge = ("--judge=openai:dying", "--concurrency=1", "--retries=0")
    with endpoint() as (url, process), judge_service(*judge, f"--url={url}") as (service, _):
        done = run(tiny_model, tmp_path / "run", service)
        assert process.wait(60) != 0
    assert done.returncode == 0, done.stderr
    told = summary(tmp_path / "run")
    failed = told["explored"]["failed(judge)"]
    assert 0 < failed <= EPISODES - 9  # nine calls are answered, and equal episodes share one
    assert sum(told["explored"].values()) == EPISODES
    assert f"{failed} of {EPISODES} explored episodes have no verdict of service" in done.stdout + done.stderr


def test_a_service_that_is_killed_stops_the_run_without_a_reward(tiny_model: Path, tmp_path: Path) -> None:
    """Its endpoint never answers, so that all judgements are under way when it is killed."""
    with endpoint() as (url, _), judge_service("--judge=openai:slow", f"--url={url}") as (service, process):

        def kill() -> None:
            while httpx.get(url.removesuffix("v1"), trust_env=False).json()["open"] == 0:
                time.sleep(0.05)
            process.kill()

        killer = threading.Thread(target=kill, daemon=True)
        killer.start()
        done = run(tiny_model, tmp_path / "run", service)
        killer.join(60)
    assert done.returncode == 1
    assert "run stopped: no episode of iteration 1 has a verdict of service" in done.stderr
    episodes = list(Store.open(tmp_path / "run" / "trajectories", create=False).trajectories())
    assert len([one for one in episodes if one.purpose == "explore"]) == EPISODES  # kept, to be judged later
    assert not verdicts(tmp_path / "run").exists()
