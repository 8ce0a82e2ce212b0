"""The step of the loop that makes rewards of single turns: what it asks of the cluster, and never twice."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from support.trajectories import trajectory

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling, TrainingSequence
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.data.training_sequences import grouped
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.heads.reward_scale import FILE, RewardScale
from agentevol.learn.rewards.ensemble import Standard
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.reward_figures import reward_figures
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Failed, Sample, Terminated, Trajectory, Turn


def turns(*rewards: float) -> tuple[Turn, ...]:
    """Every turn reads one token and says one."""
    taken: list[Turn] = []
    for number, reward in enumerate(rewards):
        prompt = tuple(range(1, 2 * number + 2))
        sample = Sample(
            text="", prompt_ids=prompt, token_ids=(2 * number + 2,), logprobs=(-1.0,), policy_version=0
        )
        taken.append(Turn(action="go", observation="seen", reward=reward, sample=sample))
    return tuple(taken)


def episode(name: str, played: tuple[Turn, ...], **changes: Any) -> Trajectory:
    plain = trajectory(
        id=name, run="same", seed=3, attempt=int(name[-1]), initial_observation="start", turns=played
    )
    return plain.model_copy(update=changes)


EXPLORED = [episode("same/0", turns(0.0, 1.0)), episode("same/1", turns(0.0, 0.0))]


SCALE = RewardScale(("preference",), 2, Standard(1, np.zeros(2), np.ones(2)))


class Playing:
    """Stands in for the processes: every continuation wins, the model says 0.75 of every turn."""

    def __init__(self, *, mismatch: bool = False, nothing: bool = False) -> None:
        self.mismatch, self.nothing, self.heads = mismatch, nothing, 1
        self.played: list[str] = []
        self.asked: list[Path] = []
        self.learnt: list[tuple[Path, Path, str, int]] = []

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        pass

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        for request in requests:
            self.played.append(request.id)
            ending = Failed(failure="replay-mismatch") if self.mismatch else Terminated()
            yield episode(
                request.id, (*request.prefix, *turns(1.0)), purpose="value", seed=request.seed, ending=ending
            )

    def learn(self, job: LearnerJob, _progress: object, learn: LearnConfig) -> LearnReport:
        if self.nothing:
            raise NothingToLearn("no sequence")
        self.learnt.append((job.start.path, job.out, learn.algorithm, len(job.sequences)))
        job.out.mkdir(parents=True)
        if learn.algorithm == "bradley_terry":
            (job.out / FILE).write_bytes(SCALE.to_bytes())
        return LearnReport(job.checkpoint, {})

    def scores(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> dict[str, np.ndarray]:
        return {
            sequence.trajectory_id: np.array([3.0, 5.0])
            for sequence in sequences
            if sequence.trajectory_id != "same/1"
        }

    def values(
        self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]
    ) -> list[dict[str, dict[int, float]]]:
        """Of two heads, as the test that has two of them expects; the others look at the first."""
        self.asked.append(checkpoint.path)
        outcome, safety = (
            {sequence.trajectory_id: {0: said, 1: said} for sequence in sequences} for said in (0.75, 0.5)
        )
        return [outcome, safety][: self.heads]


def stages(tmp_path: Path, cluster: Any, *overrides: str) -> tuple[Stages, RunFolder]:
    base = tmp_path / "base"
    base.mkdir(parents=True, exist_ok=True)
    (base / "weights").write_text("base")
    settings = ["name=same", "algorithm=reinforce_pp", "environment.name=guess", *overrides]
    folder = RunFolder.create(tmp_path / "run", load(None, settings), Checkpoint(base, 0))
    return Stages(
        RunContext.of(folder, cluster, "", folder.checkpoints.accepted(0), Progress(Console(quiet=True)))
    ), folder


ON = ("process.continuations=3", "process.share=1.0", "process.alpha=2.0", "process.beta=1.0")
SEQUENCES = grouped(EXPLORED, objective("reinforce_pp"))


def rewards(sequences: Sequence[TrainingSequence]) -> list[tuple[float, ...]]:
    return [sequence.episode.rewards for sequence in sequences if sequence.episode is not None]


def test_states_are_valued_a_model_learns_them_and_turns_are_rewarded_once(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, *ON)
    # V(start) = 0.5: 0.75 - 0.5 and 1 - 0.75, then 2 for the outcome; 0.75 - 0.5 and 0 - 0.75
    expected = [(0.25, 2.25), (0.25, -0.75)]
    assert rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)) == expected
    assert len(cluster.played) == 6  # the state after the first turn of both episodes, three times
    assert cluster.learnt == [
        (folder.checkpoints.accepted(0).path, folder.checkpoints.process_model(1).path, "process_reward", 2)
    ]
    figures = reward_figures(folder.path, 1)
    assert (figures["process_states"], figures["process_mismatch_rate"]) == (2.0, 0.0)
    assert figures["process_brier"] == pytest.approx(0.0625)  # (0.75 - 1)^2

    # a run that was killed here and goes on plays and learns nothing of it again
    assert rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)) == expected
    assert (len(cluster.played), len(cluster.learnt)) == (6, 1)
    # and where the policy has learnt already, nothing is needed at all
    folder.checkpoints.repeat(folder.checkpoints.accepted(0), folder.checkpoints.accepted(1))
    assert run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES) is SEQUENCES


def test_the_model_of_an_iteration_begins_with_the_one_before(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, *ON)
    run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    later = [t.model_copy(update={"iteration": 2}) for t in EXPLORED]
    run.shape(2, folder.checkpoints.accepted(0), later, grouped(later, objective("reinforce_pp")))
    assert [start for start, *_ in cluster.learnt] == [
        folder.checkpoints.accepted(0).path,
        folder.checkpoints.process_model(1).path,
    ]


def test_a_run_begins_with_an_earlier_model_and_goes_on_from_it(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, *ON, "process.model=earlier")
    folder.checkpoints.process_model(0).path.mkdir(parents=True)
    run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    assert folder.checkpoints.process_model(0).path == folder.path / "process" / "0000"
    assert [start for start, *_ in cluster.learnt] == [folder.checkpoints.process_model(0).path]


def test_without_continuations_an_earlier_model_stays_as_it_is(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, "process.model=earlier", "process.alpha=2", "process.beta=1")
    assert rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)) == [
        (0.25, 2.25),
        (0.25, -0.75),
    ]
    assert (cluster.played, cluster.learnt) == ([], [])
    assert cluster.asked == [folder.checkpoints.process_model(0).path]
    assert sorted(reward_figures(folder.path, 1)) == []  # nothing was counted


def test_what_the_model_says_of_held_out_episodes_is_told_beside_how_they_ended(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, "process.model=earlier")
    place = {"purpose": "evaluate", "iteration": 2, "split": "valid"}
    played = [episode("same/0", turns(0.0, 1.0), **place), episode("same/1", turns(0.0, 0.0, 0.0), **place)]
    folder.store.append(played, commit={"purpose": "evaluate"})
    assert run.rewards.process.watched(2) == {"process_validation_value": 0.75, "process_validation_auc": 0.5}
    assert cluster.asked == [folder.checkpoints.process_model(0).path]
    fresh, _ = stages(tmp_path / "fresh", cluster, *ON)
    assert fresh.rewards.process.watched(0) == {}  # nothing has been learnt yet


def test_without_process_rewards_sequences_are_what_they_were(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster)
    assert run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES) is SEQUENCES
    assert not cluster.played
    assert not (folder.path / "process").exists()


def test_a_world_that_cannot_be_replayed_stops_the_run(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(mismatch=True), *ON)
    with pytest.raises(RunStopped, match="no state of guess was reached again"):
        run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)


def test_without_a_label_the_model_is_the_one_before(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(nothing=True), *ON)
    run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)
    assert (folder.checkpoints.process_model(1).path / "weights").read_text() == "base"


def test_a_reward_model_replaces_the_worlds_rewards_and_whom_it_cannot_read_is_left_out(tmp_path: Path):
    run, folder = stages(
        tmp_path,
        Playing(),
        "reward.model=judge",
        "reward.alpha=1",
        "reward.beta=0.5",
        "reward.caution.kappa=2",
    )
    folder.checkpoints.reward_model(0).path.mkdir()
    (folder.checkpoints.reward_model(0).path / FILE).write_bytes(SCALE.to_bytes())
    # members 3 and 5: 4 - 2 * sqrt(2), half of it, and 1 for the outcome; same/1 has no score
    expected = (0.0, 1 + (4 - 2 * 2**0.5) / 2)
    (found,) = rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES))
    assert found == pytest.approx(expected)
    assert reward_figures(folder.path, 1) == {
        "reward_score": pytest.approx(4 - 2 * 2**0.5), "reward_spread": pytest.approx(2**0.5),
        "reward_unjudged": 1.0, "reward_spread_learnt": 0.0,
    }  # fmt: skip
    # where the policy has learnt already, nothing is asked again
    folder.checkpoints.repeat(folder.checkpoints.accepted(0), folder.checkpoints.accepted(1))
    assert run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES) is SEQUENCES


REFRESHED = ("reward.refresh=true", "pairs.truncated_is_loss=true")


def test_a_refreshed_reward_model_learns_from_pairs_before_it_judges_and_begins_with_the_one_before(
    tmp_path: Path,
):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, *REFRESHED)
    explored = [EXPLORED[0], episode("same/1", turns(0.0, 0.0, 0.0))]
    sequences = grouped(explored, objective("reinforce_pp"))
    (found,) = rewards(run.shape(1, folder.checkpoints.accepted(0), explored, sequences))
    assert found == (0.0, pytest.approx(4 - 2**0.5))  # members 3 and 5, kappa 1, and nothing of the outcome
    assert cluster.learnt == [
        (folder.checkpoints.accepted(0).path, folder.checkpoints.reward_model(1).path, "bradley_terry", 2)
    ]
    run.shape(1, folder.checkpoints.accepted(0), explored, sequences)
    assert len(cluster.learnt) == 1  # a run that was killed here and goes on learns nothing again
    later = [t.model_copy(update={"iteration": 2}) for t in explored]
    run.shape(2, folder.checkpoints.accepted(0), later, grouped(later, objective("reinforce_pp")))
    assert [start for start, *_ in cluster.learnt] == [
        folder.checkpoints.accepted(0).path,
        folder.checkpoints.reward_model(1).path,
    ]
    assert folder.checkpoints.reward_model(1).path != folder.checkpoints.reward_model(2).path


def test_without_a_pair_there_is_no_reward_model_yet_and_nothing_to_learn_from(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(nothing=True), *REFRESHED)
    assert run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES) == []


def test_a_run_stops_when_its_reward_model_is_exploited(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(), "reward.model=judge")
    for number, (proxy, gold) in enumerate([(0.1, 0.4), (0.2, 0.3), (0.3, 0.2), (0.4, 0.3)]):
        validation = EvaluationSummary(split="valid", n=2, successes=0, mean_reward=gold, mean_turns=1.0)
        folder.summaries.finish(
            IterationSummary(
                iteration=number, checkpoint="", table_version=0, validation=validation, proxy=proxy
            )
        )
    assert [run.has_stalled(number) for number in range(4)] == [False, False, True, True]
    (tmp_path / "other").mkdir()
    patient, again = stages(tmp_path / "other", Playing(), "reward.model=judge", "reward.patience=null")
    for number in range(4):
        again.summaries.finish(folder.summaries.of(number))
    assert not patient.has_stalled(3)


PREFERRED = ("reward.preference_rounds=1", "pairs.truncated_is_loss=true")
PAIRED = [EXPLORED[0], episode("same/1", turns(0.0, 0.0, 0.0))]


def test_a_preference_round_trains_the_reward_model_and_leaves_the_policy(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, *PREFERRED)
    sequences = grouped(PAIRED, objective("reinforce_pp"))
    start = folder.checkpoints.accepted(0)
    assert run.shape(1, start, PAIRED, sequences) == []
    assert cluster.learnt == [(start.path, folder.path / "rewards" / "0001", "bradley_terry", 2)]
    run.shape(1, start, PAIRED, sequences)
    assert len(cluster.learnt) == 1  # a run that was killed here and goes on learns nothing again

    # a later one trains no model, and tells how well it orders pairs that it has not seen
    later = [t.model_copy(update={"iteration": 2}) for t in PAIRED]
    (found,) = rewards(run.shape(2, start, later, grouped(later, objective("reinforce_pp"))))
    assert found == (0.0, pytest.approx(4 - 2**0.5))
    assert len(cluster.learnt) == 1
    assert folder.checkpoints.reward_model(9) == folder.checkpoints.reward_model(1)
    assert reward_figures(folder.path, 2)["reward_unjudged"] == 1.0


def test_pairs_of_all_preference_rounds_train_the_reward_model_together(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, "reward.preference_rounds=2", "pairs.truncated_is_loss=true")
    start = folder.checkpoints.accepted(0)
    folder.store.append(PAIRED, commit={"purpose": "explore 1"})
    assert run.shape(1, start, PAIRED, grouped(PAIRED, objective("reinforce_pp"))) == []
    assert cluster.learnt == []
    later = [t.model_copy(update={"id": f"later/{t.id}", "iteration": 2}) for t in PAIRED]
    later = [t.model_copy(update={"task_id": "another", "group_id": "another"}) for t in later]
    assert run.shape(2, start, later, grouped(later, objective("reinforce_pp"))) == []
    # a pair of each round: four sequences, and from the clone on
    assert cluster.learnt == [(start.path, folder.path / "rewards" / "0002", "bradley_terry", 4)]
    assert run.rewards.proxy(1) is None


def test_the_validation_score_is_known_from_the_last_preference_round_on(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(), *PREFERRED)
    run.shape(1, folder.checkpoints.accepted(0), PAIRED, grouped(PAIRED, objective("reinforce_pp")))
    for iteration in (0, 1):
        played = episode("same/0", turns(1.0), purpose="evaluate", iteration=iteration, split="valid")
        folder.store.append([played], commit={"purpose": f"evaluate {iteration}"})
    assert run.rewards.proxy(0) is None
    assert run.rewards.proxy(1) == pytest.approx(4 - 2**0.5)


def test_preference_rounds_without_a_pair_stop_the_run(tmp_path: Path):
    run, folder = stages(tmp_path, Playing(nothing=True), *PREFERRED)
    with pytest.raises(RunStopped, match="the reward model has no pair to learn from"):
        run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES)


def test_a_given_reward_model_without_preference_rounds_stays_as_it_is(tmp_path: Path):
    cluster = Playing()
    run, folder = stages(tmp_path, cluster, "reward.preference_rounds=0", "reward.model=judge")
    folder.checkpoints.reward_model(0).path.mkdir()
    (folder.checkpoints.reward_model(0).path / FILE).write_bytes(SCALE.to_bytes())
    (found,) = rewards(run.shape(1, folder.checkpoints.accepted(0), EXPLORED, SEQUENCES))
    assert found == (0.0, pytest.approx(4 - 2**0.5))
    assert cluster.learnt == []
    assert folder.checkpoints.reward_model(3).path == folder.path / "reward"
