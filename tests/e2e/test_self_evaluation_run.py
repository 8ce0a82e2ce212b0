"""A run whose policy is selected by its own base's opinion of its episodes, on real processes."""

import json
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.self_judges import write_judge
from support.tiny_models import GUESS_RUN
from support.trajectories import trajectory

from agentgym_envs.registry import make
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory, Turn

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]


def random_episode(number: int) -> Trajectory:
    """An episode of a player that guesses at random."""
    world, random = make("guess"), Random(number)
    task = random.choice(world.tasks("train"))
    first, turns, done = world.reset(task, 0), list[Turn](), False
    while not done and len(turns) < world.max_turns:
        action = str(random.randint(1, 8))
        result = world.step(action)
        turns.append(Turn(action=action, observation=result.observation.text, reward=result.reward))
        done = result.terminated
    told = {"instruction": task.instruction, "initial_observation": first.text, "turns": tuple(turns)}
    return trajectory(id=f"random/{number}", task_id=task.id, **told)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model that was cloned to answer 9 after transcripts of won episodes, and 1 after lost ones."""
    shown = [random_episode(number) for number in range(160)]
    place = tmp_path_factory.mktemp("models") / "base"
    return write_judge(place, shown, lambda t: 9 if t.succeeded() else 1, shows_end=True).path


def command(base: Path, out: Path) -> list[str]:
    settings = [
        f"base={base}",
        *GUESS_RUN,
        "name=same",
        "explore.samples=12",
        "evaluate.episodes=2",
        "evaluate.validation_episodes=2",
        "engine.workers=1",
        "algorithm=sft",
        "demonstrations.tasks=4",
        "demonstrations.clone=true",
        "learn.micro_batch_tokens=4096",
        "select.score=self",
        "select.rule=threshold",
        "select.threshold=0.7",
        "self.shows_end=true",
    ]
    return [sys.executable, "-m", "agentevol", "run", "--iters", "1", "--out", str(out), *settings]


def finished(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def noted(out: Path) -> tuple[Any, Any, Any]:
    """Figures of the selection, manifest, and opinions."""
    summary = json.loads((out / "iterations" / "0001.json").read_text())
    records = FeedbackTable.beside(out / "trajectories").records()
    opinions = sorted((one.id, one.opinion.model_dump_json()) for one in records)
    return summary["selection"], (out / "manifests" / "0001.json").read_text(), opinions


def test_a_policy_learns_from_what_its_base_thinks_well_of_killed_or_not(base: Path, tmp_path: Path):
    told = finished(command(base, tmp_path / "calm"))
    selection, _, opinions = noted(tmp_path / "calm")
    assert selection["self_scored"] == len(opinions) == 48
    assert selection["self_used"] == 1.0
    assert selection["self_auc"] > 0.9
    assert "self-evaluation by base: AUC" in told
    killed, scores = tmp_path / "killed", tmp_path / "killed" / "self" / "0001.json"
    with subprocess.Popen(command(base, killed), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as one:
        while not scores.exists() and one.poll() is None:
            time.sleep(0.01)
        one.kill()
    finished([sys.executable, "-m", "agentevol", "run", "--resume", str(killed)])
    selection_again, *rest = noted(killed)
    assert rest == list(noted(tmp_path / "calm"))[1:]
    assert selection_again == pytest.approx(selection)  # log-probabilities of actions depend on the batch
