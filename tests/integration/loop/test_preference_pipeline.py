"""Cloning, a reward model of preferences and PPO on it as one run: what each stage learns, killed or not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.run_processes import Killed, Processes, go_on, learnt
from support.runs import requested
from support.tiny_models import write_guess_model

from agentevol.config.run import load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, TrainingSequence
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.heads.reward_scale import FILE, RewardScale
from agentevol.learn.rewards.ensemble import Standard
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Sample, Trajectory, Turn

pytestmark = pytest.mark.usefixtures("tasks", "expert")
SETTINGS = (
    "name=now", "env=guess", "iterations=4", "explore.tasks=4", "explore.samples=4",
    "explore.commit_every=1", "evaluate.episodes=1", "evaluate.validation_episodes=1",
    "demonstrations.tasks=5", "kl=null", "reward.patience=null", "reward.preference_rounds=2",
)  # fmt: skip
SCALE = RewardScale(("preference",), 1, Standard(1, np.zeros(1), np.ones(1)))
Learnt = tuple[str, str, int]
"""Algorithm, folder of the result in the run, number of sequences."""


@pytest.fixture
def expert(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expert whose messages have tokens, as those of a run have after they were encoded."""

    def demonstrate(_: object, _url: str, requests: Sequence[EpisodeRequest]) -> list[Trajectory]:
        said = Sample(text="8", prompt_ids=(1,), token_ids=(9,), logprobs=(-1.0,), policy_version=0)
        turns = (Turn(action="8", observation="o", reward=1.0, sample=said),)
        told: dict[str, Any] = {"turns": turns, "initial_observation": "", "policy": "expert"}
        return [requested(one, env_version="", data_version="", **told) for one in requests]

    monkeypatch.setattr("agentevol.loop.stages.data_mixture.demonstrate", demonstrate)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_guess_model(tmp_path_factory.mktemp("models") / "tiny", hidden=32)


class Stand(Processes):
    """Processes with a reward model whose score is the token said, killed before a training that has come
    after `trainings` others, too.
    """

    def __init__(self, left: int = 10_000, trainings: int = 10_000) -> None:
        super().__init__(left)
        self.trainings = trainings
        self.trained: list[Learnt] = []
        self.rewards: dict[int, set[float]] = {}

    def learn(self, job: LearnerJob, _: object, learn: LearnConfig) -> LearnReport:
        if not job.sequences:
            raise NothingToLearn("none was given")
        if not self.trainings:
            raise Killed
        self.trainings -= 1
        place = f"{job.out.parent.name}/{job.out.name}"
        self.trained.append((learn.algorithm, place, len(job.sequences)))
        if learn.algorithm == "ppo":
            episodes = [one.episode for one in job.sequences]
            self.rewards[job.version] = {one.rewards[-1] for one in episodes if one is not None}
        report = learnt(job)
        if learn.algorithm == "bradley_terry":
            (job.out / FILE).write_bytes(SCALE.to_bytes())
        return report

    def scores(self, _: Checkpoint, sequences: Sequence[TrainingSequence]) -> dict[str, np.ndarray]:
        return {one.trajectory_id: np.array([float(one.token_ids[-1])]) for one in sequences}


def begun(place: Path, base: Path) -> RunFolder:
    return RunFolder.create(place / "run", load(None, SETTINGS, preset="rlhf"), Checkpoint(base, 0))


def test_one_run_clones_learns_preferences_and_then_by_them_alone(tmp_path: Path, base: Path):
    folder, stand = begun(tmp_path, base), Stand()
    go_on(folder, stand)
    assert [(name, place) for name, place, _ in stand.trained] == [
        ("sft", "checkpoints/0000"),
        ("bradley_terry", "rewards/0002"),
        ("ppo", "checkpoints/0003"),
        ("ppo", "checkpoints/0004"),
    ]
    assert stand.trained[0][2] == 5
    # PPO's rewards are scores, the tokens 2 to 6, and not outcomes, which are 0 or 1
    assert all(found <= {2.0, 3.0, 4.0, 5.0, 6.0} for found in stand.rewards.values())
    assert sorted(stand.rewards) == [3, 4]
    proxies = [folder.summaries.of(number).proxy for number in range(5)]
    assert [proxy is None for proxy in proxies] == [True, True, False, False, False]
    weights = [folder.checkpoints.accepted(number).path / "model.safetensors" for number in range(4)]
    clone, *_, still, learnt_first = [one.read_text() for one in weights]
    assert clone == still != learnt_first
    models = [folder.checkpoints.reward_model(number).path.name for number in (2, 3, 4)]
    assert models == ["0002", "0002", "0002"]
    assert "reward" in read_manifests(folder.path, 3)
    assert "model" not in read_manifests(folder.path, 1)["reward"].inputs


@pytest.mark.slow
@pytest.mark.parametrize(
    ("left", "trainings"), [(7, 10_000), (10_000, 0), (10_000, 1), (10_000, 2), (13, 1), (30, 10_000)]
)
def test_a_run_killed_in_any_stage_ends_like_an_undisturbed_one(
    tmp_path: Path, base: Path, left: int, trainings: int
):
    calm, rough = begun(tmp_path / "calm", base), begun(tmp_path / "rough", base)
    whole, trained, kills = Stand(), list[Learnt](), 0
    go_on(calm, whole)
    while True:
        # after a kill in a training the next process gets one further
        stand = Stand(left, trainings + kills)
        try:
            go_on(rough, stand)
            break
        except Killed:
            kills += 1
        finally:
            trained += stand.trained
    assert kills > 0
    assert trained == whole.trained  # nothing is learnt twice, and all of it from equal sequences
    for iteration in range(5):
        assert read_manifests(rough.path, iteration) == read_manifests(calm.path, iteration)
        ours, theirs = (one.summaries.of(iteration) for one in (rough, calm))
        assert (ours.proxy, ours.evaluation, ours.learn) == (theirs.proxy, theirs.evaluation, theirs.learn)
