"""`agentevol run env=NAME` with nothing else said: every registered environment, and one from elsewhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from agentevol.core.starter_names import MODES
from agentevol.loop.state.run_folder import RunFolder
from agentevol.models.resolution import shipped_starters
from agentgym_store.store import Store, Where

pytestmark = pytest.mark.usefixtures("clean_environment")

LETTERS = '''
"""The letter after one letter: an environment with one split, no difficulties, and an expert."""

from string import ascii_lowercase

from agentgym_envs.core import Environment, Observation, StepResult, Task, TaskNotFound


class Letters(Environment):
    name = "letters"
    max_turns = 2
    splits = ("train",)

    def tasks(self, split, difficulty=None):
        if split != "train":
            raise TaskNotFound(split)
        return [self.task(f"after-{letter}") for letter in ascii_lowercase[:-1]]

    def task(self, task_id):
        return Task(env="letters", id=task_id, split="train", instruction="Say the letter that follows.")

    def reset(self, task, seed):
        self.letter = task.id[-1]
        return Observation(text=f"What follows {self.letter}?")

    def step(self, action):
        right = action == chr(ord(self.letter) + 1)
        return StepResult(observation=Observation(text="."), reward=float(right), terminated=True)

    def expert(self, task):
        return [chr(ord(task.id[-1]) + 1)]
'''


def agentevol(*arguments: str, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "AGENTEVOL_HOME": str(home), "PYTHONPATH": _path(home)}
    command = [sys.executable, "-m", "agentevol", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment)


def _path(home: Path) -> str:
    return os.pathsep.join([str(home / "site"), *filter(None, [os.environ.get("PYTHONPATH")])])


@pytest.fixture
def letters(tmp_path: Path) -> Path:
    """A home beside which a distribution with the environment `letters` is installed."""
    about = tmp_path / "site" / "letters-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: letters\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[agentgym.environments]\nletters = letters:Letters\n")
    (tmp_path / "site" / "letters.py").write_text(LETTERS)
    return tmp_path


@pytest.mark.slow
def test_an_environment_of_another_distribution_trains_with_nothing_else_said(letters: Path):
    out = letters / "run"
    refused = agentevol("run", "env=letters", "--out", str(out), home=letters)
    assert refused.returncode == 2
    assert len(refused.stderr.splitlines()) == 1
    assert "no starter policy for 'letters': build one with `agentevol starter build --env letters`" in (
        refused.stderr
    )
    assert not out.exists()

    little = ("--scale", "0.1", "--threads", "1")
    built = agentevol("starter", "build", "--env", "letters", *little, home=letters)
    assert built.returncode == 0, built.stderr
    card = (letters / "starters" / "letters" / "README.md").read_text()
    assert "episodes of the expert, in split 'train' without train:test, train:valid (10% each)" in card

    plan = agentevol("run", "env=letters", "--dry-run", home=letters).stdout
    assert "# explore: 21 tasks of letters/train (all levels), 4 samples each: 84 episodes" in plan
    assert "# held out: 10% of train for each of train:test, train:valid" in plan
    assert "# evaluate: 2 tasks of letters/train:test, 2 of train:valid to choose the best checkpoint" in plan

    ran = agentevol("run", "env=letters", "--iters", "1", "--out", str(out), home=letters)
    assert ran.returncode == 0, ran.stderr
    store = Store.open(out / "trajectories")
    explored = {t.task_id for t in store.trajectories(Where(purpose="explore"))}
    evaluated = [(t.split, t.task_id) for t in store.trajectories(Where(purpose="evaluate", iteration=1))]
    assert len(explored) == 21
    assert sorted(split for split, _ in evaluated) == ["train:test"] * 2 + ["train:valid"] * 2
    assert explored.isdisjoint(task for _, task in evaluated)
    assert (out / "report.html").is_file()


FEWER = {
    "alfworld": ("explore.tasks=8", "evaluate.episodes=8", "evaluate.validation_episodes=8"),
    "assistant": ("explore.tasks=16", "evaluate.episodes=16", "evaluate.validation_episodes=8"),
    "webshop": ("explore.tasks=6", "evaluate.episodes=6", "evaluate.validation_episodes=6"),
}
"""Smaller numbers than the defaults, with which an iteration takes minutes less."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in shipped_starters() if not name.endswith(MODES)])
def test_every_environment_with_a_starter_policy_trains_with_its_defaults(tmp_path: Path, name: str):
    out = tmp_path / "run"
    settings = ("--iters", "1", "--out", str(out), *FEWER.get(name, ()))
    ran = agentevol("run", f"env={name}", *settings, home=tmp_path)
    assert ran.returncode == 0, ran.stderr
    last = RunFolder.resume(out).summaries.of(1)
    assert last is not None
    assert last.evaluation is not None
    assert last.evaluation.n > 0
    assert all(not label.startswith("failed") for label in last.explored)


@pytest.mark.slow
def test_an_environment_of_tools_trains_from_a_starter_that_its_user_builds(tmp_path: Path):
    name = "todo"
    little = ("--scale", "0.02", "--threads", "1")
    built = agentevol("starter", "build", "--env", name, *little, home=tmp_path)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "starters" / name / "model.safetensors").stat().st_size < 6e6
    few = ("explore.tasks=4", "evaluate.episodes=4", "evaluate.validation_episodes=4")
    short = (
        "environment.max_turns=3",
        "explore.max_new_tokens=32",
        "engine.workers=1",
    )
    out = tmp_path / "run"
    ran = agentevol("run", f"env={name}", "--iters", "1", "--out", str(out), *few, *short, home=tmp_path)
    assert ran.returncode == 0, ran.stderr
    last = RunFolder.resume(out).summaries.of(1)
    assert last is not None
    assert all(not label.startswith("failed") for label in last.explored)
