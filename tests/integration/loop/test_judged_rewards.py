"""Rewards of a judge in the loop: what training sequences get, what is counted, and what is asked again."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.judges import Brief
from support.judging import endpoint, judge_service

from agentevol.config.run import load
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, TrainingSequence
from agentevol.data.judges.records import judgements_file
from agentevol.data.rewards.testing import example_episodes
from agentevol.data.training_sequences import grouped
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.reward_figures import reward_figures
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.metrics import endings

EXPLORED = [one for one in example_episodes() if one.turns[0].sample is not None]
ROWS = grouped(EXPLORED, objective("reinforce_pp"))
FAILED = {one.id for one in EXPLORED if len(one.turns) % 4}
"""Episodes that `support.judges:Picky` fails on."""


def folder_of(tmp_path: Path, *overrides: str) -> RunFolder:
    base = tmp_path / "base"
    base.mkdir(exist_ok=True)
    settings = ["name=same", "algorithm=reinforce_pp", "environment.name=guess", *overrides]
    return RunFolder.create(tmp_path / "run", load(None, settings), Checkpoint(base, 0))


def stages(folder: RunFolder, told: Console | None = None) -> Stages:
    nobody: Any = None  # no process is asked
    progress = Progress(told or Console(quiet=True))
    return Stages(RunContext.of(folder, nobody, "", folder.checkpoints.accepted(0), progress))


def rewards(sequences: list[TrainingSequence]) -> dict[str, tuple[float, ...]]:
    return {
        sequence.trajectory_id: sequence.episode.rewards
        for sequence in sequences
        if sequence.episode is not None
    }


def shaped(run: Stages, folder: RunFolder) -> dict[str, tuple[float, ...]]:
    return rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, ROWS))


def test_the_last_turn_earns_the_score_and_a_resumed_run_does_not_ask_again(tmp_path: Path):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Brief", "reward.alpha=1", "reward.beta=3")
    before = Brief.asked
    found = shaped(stages(folder), folder)
    assert Brief.asked - before == len(EXPLORED)
    for one in EXPLORED:
        turns = len(one.turns)
        score = (10 - turns) / 10
        assert found[one.id] == (0.0,) * (turns - 1) + (pytest.approx((one.total_reward or 0) + 3 * score),)
    figures, noted = reward_figures(folder.path, 1), read_manifests(folder.path, 1)["reward"]
    mean = sum(len(one.turns) for one in EXPLORED) / len(EXPLORED)
    assert figures["reward_score"] == pytest.approx((10 - mean) / 10)
    assert figures["judge_turns"] == pytest.approx(mean)
    assert figures["reward_unjudged"] == 0
    assert list(noted.inputs) == ["verdicts"]
    assert shaped(stages(folder), folder) == found  # killed here, and resumed
    assert Brief.asked - before == len(EXPLORED)
    assert read_manifests(folder.path, 1)["reward"] == noted


def test_an_episode_that_the_judge_failed_on_is_counted_and_never_trained_on(tmp_path: Path):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Picky")
    run = stages(folder)
    found = shaped(run, folder)
    assert FAILED
    assert found.keys() == {one.id for one in EXPLORED} - FAILED
    explored = run.context.drafts.of(1).explored
    assert explored["failed(judge)"] == len(FAILED)
    assert sum(explored.values()) == len(EXPLORED)
    assert "failed(judge)" not in endings(EXPLORED)
    assert reward_figures(folder.path, 1)["reward_unjudged"] == len(FAILED)
    again = stages(folder)
    assert shaped(again, folder) == found
    assert again.context.drafts.of(1).explored == explored


def test_an_iteration_without_any_verdict_fails_and_is_judged_again_when_resumed(tmp_path: Path):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Broken")
    with pytest.raises(RunStopped, match=r"no episode of iteration 1 has a verdict of .*: ConnectionError"):
        shaped(stages(folder), folder)
    assert not judgements_file(folder.path, "0001").exists()
    assert "reward" not in read_manifests(folder.path, 1)


@pytest.mark.slow  # starts a service and an endpoint
def test_the_last_turn_earns_the_score_of_a_judge_service(tmp_path: Path):
    with endpoint() as (url, _), judge_service("--judge=openai:ok", f"--url={url}") as (address, _):
        options = [f"reward.options.url={address}", "reward.options.dimension=efficiency"]
        folder = folder_of(tmp_path, "reward.judge=service", *options)
        found = shaped(stages(folder), folder)
        assert {name: turns[-1] for name, turns in found.items()} == {one.id: 1.0 for one in EXPLORED}
        assert reward_figures(folder.path, 1)["judge_efficiency"] == 10.0


def test_a_judge_that_changed_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Brief")
    shaped(stages(folder), folder)
    monkeypatch.setattr(Brief.__init__, "__kwdefaults__", {"version": "2", "offset": 0.0})
    with pytest.raises(
        RunStopped, match=r"is of the judge support.judges:Brief \(version 1\), not .*version 2"
    ):
        shaped(stages(folder), folder)


def test_validation_episodes_are_judged_once_where_their_score_is_watched(tmp_path: Path):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Brief", "reward.patience=1")
    changes = {"run": "same", "purpose": "evaluate", "split": "valid"}
    validation = [one.model_copy(update={"id": f"same/{one.id}", **changes}) for one in EXPLORED]
    folder.store.append(validation, commit={"run": "same"})
    before = Brief.asked
    mean = sum(len(one.turns) for one in EXPLORED) / len(EXPLORED)
    for _ in range(2):
        assert stages(folder).rewards.proxy(1) == pytest.approx((10 - mean) / 10)
    assert Brief.asked - before == len(EXPLORED)
    assert judgements_file(folder.path, "0001-valid").is_file()


def test_without_patience_no_validation_episode_is_judged(tmp_path: Path):
    folder = folder_of(tmp_path, "reward.judge=support.judges:Broken", "reward.patience=null")
    assert stages(folder).rewards.proxy(1) is None
    assert not judgements_file(folder.path, "0001-valid").exists()
