"""Rewards of functions in the loop: what training sequences get, what is noted, and what stops a run."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from agentevol.config.run import load
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.rewards.testing import example_episodes
from agentevol.data.training_sequences import grouped
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.reward_figures import reward_figures
from agentevol.loop.state.run_folder import RunFolder

EXPLORED = [one for one in example_episodes() if one.turns[0].sample is not None]
SEQUENCES = grouped(EXPLORED, objective("reinforce_pp"))
RULES = """
def turns(episodes, *, scale: float = 1.0):
    return [scale * len(episode.turns) for episode in episodes]

def depth(history):
    return float(len(history.turns))

def broken(episodes):
    return [0.0]
"""


@pytest.fixture(autouse=True)
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of the user's in the working folder."""
    (tmp_path / "own_rules.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("own_rules", None)


def stages(tmp_path: Path, *overrides: str) -> tuple[Stages, RunFolder]:
    base = tmp_path / "base"
    base.mkdir(exist_ok=True)
    settings = ["name=same", "algorithm=reinforce_pp", "environment.name=guess", *overrides]
    folder = RunFolder.create(tmp_path / "run", load(None, settings), Checkpoint(base, 0))
    nobody: Any = None  # no process is asked
    context = RunContext.of(folder, nobody, "", folder.checkpoints.accepted(0), Progress(Console(quiet=True)))
    return Stages(context), folder


def rewards(sequences: list[TrainingSequence]) -> dict[str, tuple[float, ...]]:
    return {
        sequence.trajectory_id: sequence.episode.rewards
        for sequence in sequences
        if sequence.episode is not None
    }


def test_a_foreign_function_scores_episodes_and_its_figures_and_manifest_are_noted(tmp_path: Path):
    given = ("reward.function=own_rules:turns", "reward.options.scale=2.0", "reward.alpha=1", "reward.beta=3")
    run, folder = stages(tmp_path, *given)
    found = rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES))
    for one in EXPLORED:
        turns = len(one.turns)
        assert found[one.id] == (0.0,) * (turns - 1) + ((one.total_reward or 0) + 3 * 2 * turns,)
    expected = 2 * sum(len(one.turns) for one in EXPLORED) / len(EXPLORED)
    assert reward_figures(folder.path, 1)["reward_score"] == pytest.approx(expected)
    noted = read_manifests(folder.path, 1)["reward"]
    assert "model" not in noted.inputs
    again = rewards(
        run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    )  # killed here, and resumed
    assert again == found
    assert read_manifests(folder.path, 1)["reward"] == noted


def test_a_foreign_potential_is_added_and_needs_no_model(tmp_path: Path):
    run, folder = stages(tmp_path, "shaping.potential=own_rules:depth")
    found = run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    plain, shaped = rewards(SEQUENCES), rewards(found)
    for one in EXPLORED:
        turns = len(one.turns)
        added = np.subtract(shaped[one.id], plain[one.id])
        assert added.tolist() == [1.0] * (turns - 1) + [1.0 - turns]  # the end has potential 0
    assert read_manifests(folder.path, 1)["reward"].inputs == {}


def test_the_score_of_the_validation_episodes_is_the_functions_mean(tmp_path: Path):
    run, folder = stages(tmp_path, "reward.function=own_rules:turns")
    changes = {"run": "same", "purpose": "evaluate", "split": "valid"}
    validation = [one.model_copy(update={"id": f"same/{one.id}", **changes}) for one in EXPLORED]
    folder.store.append(validation, commit={"run": "same"})
    mean = sum(len(one.turns) for one in EXPLORED) / len(EXPLORED)
    assert run.rewards.proxy(1) == pytest.approx(mean)


def test_a_function_that_gives_another_length_stops_the_run(tmp_path: Path):
    run, folder = stages(tmp_path, "reward.function=own_rules:broken")
    with pytest.raises(RunStopped, match=f"'own_rules:broken' gave 1 numbers for {len(EXPLORED)} episodes"):
        run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    assert "reward" not in read_manifests(folder.path, 1)
