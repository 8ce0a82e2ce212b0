"""Behavioural cloning before the first round, and the order of the loop around it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from rich.console import Console
from support.runs import episode_request, requested

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling, TrainingSequence
from agentevol.core.summaries import RunSummary
from agentevol.data.training_sequences import imitated
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.evolve import evolve
from agentevol.loop.stages.cloning import settled
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Sample, Trajectory, Turn

pytestmark = pytest.mark.usefixtures("tasks")
DEMONSTRATED = ["demonstrations.tasks=3", "select.merge=expert"]


class Processes:
    """Stands in for the processes of a run, and notes what they are told to do."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []
        self.learnt: list[tuple[LearnerJob, LearnConfig]] = []
        self.version = 0
        self.fails: Exception | None = None

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        self.version = checkpoint.version
        self.told.append(("update", checkpoint.version))

    def play(
        self, requests: Sequence[EpisodeRequest], _sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        self.told.append((requests[0].purpose, requests[0].iteration))
        yield from (won(request, self.version) for request in requests)

    def learn(self, job: LearnerJob, _progress: object, learn: LearnConfig) -> LearnReport:
        if self.fails:
            raise self.fails
        self.told.append(("learn", job.version))
        self.learnt.append((job, learn))
        job.out.mkdir(parents=True)
        (job.out / "model.safetensors").write_text(f"learnt from {job.start.path.name}")
        metrics = '{"tokens_trained": 7.0}'
        (job.out / "agentevol.json").write_text(f'{{"version": {job.version}, "metrics": {metrics}}}')
        return LearnReport(job.checkpoint, {"tokens_trained": 7.0})


def won(request: EpisodeRequest, version: int) -> Trajectory:
    sample = Sample(text="", prompt_ids=(1,), token_ids=(2,), logprobs=(-1.0,), policy_version=version)
    return requested(request, turns=(Turn(action="2", observation="o", reward=1.0, sample=sample),))


@pytest.fixture(autouse=True)
def world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three demonstrations."""

    def shown(_: DataMixture) -> list[TrainingSequence]:
        request = episode_request(id="expert", run="now", iteration=0, purpose="demonstrate", seed=4)
        return imitated([won(request, 0)], objective("sft", {}), SelectConfig(turns="all")) * 3

    monkeypatch.setattr(DataMixture, "demonstrations", shown)


def begun(place: Path, *overrides: str) -> RunFolder:
    base = place / "model"
    base.mkdir(parents=True, exist_ok=True)
    (base / "model.safetensors").write_text("base")
    settings = ["name=now", "environment.name=guess", "explore.tasks=2", "explore.samples=1", "iterations=2"]
    config = load(None, [*settings, "evaluate.episodes=2", "evaluate.validation_episodes=2", *overrides])
    return RunFolder.create(place / "run", settled(config, base), Checkpoint(base, 0))


def evolved(folder: RunFolder, processes: Processes) -> RunSummary:
    with Stages(
        RunContext.of(folder, processes, "", folder.checkpoints.base(), Progress(Console(quiet=True)))
    ) as run:  # pyright: ignore[reportArgumentType]
        return evolve(run)


def weights(checkpoint: Checkpoint) -> str:
    return (checkpoint.path / "model.safetensors").read_text()


def test_a_base_that_is_no_agent_learns_the_demonstrations_before_anything_is_played(tmp_path: Path):
    folder, processes = begun(tmp_path, *DEMONSTRATED, "demonstrations.epochs=4"), Processes()
    summary = evolved(folder, processes)
    assert processes.told == [
        *(("learn", 0), ("update", 0), ("evaluate", 0), ("evaluate", 0)),
        *(("explore", 1), ("learn", 1), ("update", 1), ("evaluate", 1), ("evaluate", 1)),
        *(("explore", 2), ("learn", 2), ("update", 2), ("evaluate", 2), ("evaluate", 2)),
    ]
    (job, learn), *_ = processes.learnt
    assert (job.start.path.name, job.out.name, len(job.sequences)) == ("base", "0000", 3)
    assert (job.seed, job.version) == (0, 0)
    assert (learn.algorithm, learn.epochs) == ("sft", 4)
    assert weights(folder.checkpoints.base()) == "base"
    assert weights(folder.checkpoints.accepted(0)) == "learnt from base"
    assert summary.iterations[0].trained_tokens == 7
    assert summary.iterations[0].sequences == 3
    assert read_manifests(folder.path, 0)["train"].inputs.keys() == {"merge", "start"}


def test_a_run_that_was_killed_while_cloning_clones_and_one_that_had_cloned_does_not(tmp_path: Path):
    folder, killed = begun(tmp_path, *DEMONSTRATED), Processes()
    killed.fails = KeyboardInterrupt()  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(KeyboardInterrupt):
        evolved(folder, killed)
    processes, again = Processes(), Processes()
    evolved(folder, processes)
    assert processes.told[0] == ("learn", 0)
    evolved(folder, again)
    assert again.told == []


@pytest.mark.parametrize(("start", "begins"), [("base", ["base", "base"]), ("latest", ["0000", "0001"])])
def test_iterations_learn_from_the_base_before_cloning_or_from_the_latest(
    tmp_path: Path, start: str, begins: list[str]
):
    processes = Processes()
    evolved(begun(tmp_path, *DEMONSTRATED, f"start={start}"), processes)
    assert [job.start.path.name for job, _ in processes.learnt[1:]] == begins


def test_the_reference_and_the_anchor_are_the_clone(tmp_path: Path):
    processes = Processes()
    folder = begun(
        tmp_path, "demonstrations.tasks=3", "demonstrations.clone=true", "algorithm=grpo",
        "learn.options.kl_coef=0.1", "learn.reference=base",
    )  # fmt: skip
    evolved(folder, processes)
    assert [job.reference for job, _ in processes.learnt] == [None, *[folder.checkpoints.accepted(0)] * 2]
    anchor = processes.learnt[1][0].anchor
    assert anchor is not None
    assert anchor.checkpoint == folder.checkpoints.accepted(0)


def test_a_base_that_is_an_agent_is_not_cloned(tmp_path: Path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "agentevol.json").write_text('{"version": 3}')
    folder, processes = begun(tmp_path, *DEMONSTRATED), Processes()
    evolved(folder, processes)
    assert folder.config.demonstrations.clone is False
    assert processes.told[:2] == [("evaluate", 0), ("evaluate", 0)]
    assert weights(folder.checkpoints.accepted(0)) == "base"


def test_a_run_ends_where_the_demonstrations_have_nothing_to_learn(tmp_path: Path):
    processes = Processes()
    processes.fails = NothingToLearn("every sequence is too long")
    with pytest.raises(
        RunStopped, match="cannot be cloned from its demonstrations: every sequence is too long"
    ):
        evolved(begun(tmp_path, *DEMONSTRATED), processes)


def test_an_evaluation_before_the_engines_have_the_weights_is_refused(tmp_path: Path):
    folder = begun(tmp_path)
    folder.checkpoints.repeat(folder.checkpoints.accepted(0), folder.checkpoints.accepted(1))
    run = Stages(
        RunContext.of(folder, Processes(), "", folder.checkpoints.base(), Progress(Console(quiet=True)))
    )  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match=r"the engines hold .*0000, not .*0001"):
        run.evaluate(1, folder.checkpoints.accepted(1))
    run.update(1, folder.checkpoints.accepted(1))
    run.evaluate(1, folder.checkpoints.accepted(1))


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["demonstrations.clone=true"], "demonstrations: clone has no effect without tasks"),
        (
            ["demonstrations.tasks=3", "demonstrations.clone=false", "select.merge=none"],
            "no effect with select.merge = 'none' and demonstrations.clone = false",
        ),
        (
            ["demonstrations.tasks=3", "demonstrations.clone=true", "select.merge=none", "start=base"],
            "discards the clone in each update",
        ),
        (["demonstrations.epochs=3"], "demonstrations: epochs has no effect without clone"),
        ([*DEMONSTRATED, "demonstrations.clone=false", "demonstrations.learning_rate=0.1"], "learning_rate"),
    ],
)
def test_settings_of_cloning_without_effect_are_refused(overrides: list[str], line: str):
    with pytest.raises(ConfigError, match=line):
        load(None, overrides)


def test_engine_and_learner_are_compared_by_the_weights_that_explored(tmp_path: Path):
    processes = Processes()
    folder = begun(tmp_path, *DEMONSTRATED, "start=base")
    evolved(folder, processes)
    assert [job.sampler for job, _ in processes.learnt] == [
        None,
        folder.checkpoints.accepted(0),
        folder.checkpoints.accepted(1),
    ]
