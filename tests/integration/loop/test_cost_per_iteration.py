"""The work of an iteration does not grow with the number of iterations before it."""

import gc
import weakref
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.runs import requested

import agentevol.data.training_sequences
from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling, TrainingSequence
from agentevol.core.summaries import IterationSummary
from agentevol.loop.evolve import evolve
from agentevol.loop.stages.async_exploration import AsyncExploration
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.store import ALL, Store, Where

pytestmark = pytest.mark.usefixtures("tasks")


def played(request: EpisodeRequest, version: int) -> Trajectory:
    """Two turns of one token each; three of four attempts win, by actions of their own."""
    won = float(request.attempt != 3)
    action = str(request.attempt)
    turns = tuple(
        Turn(
            action=f"{action} {number}", observation="o", reward=won * number,
            sample=Sample(
                text="", prompt_ids=tuple(range(1, 2 + number)), token_ids=(2 + number,), logprobs=(-1.0,),
                policy_version=version,
            ),
        )
        for number in range(2)
    )  # fmt: skip
    return requested(request, turns=turns)


class Processes:
    """Stands in for the processes of a run."""

    version = 0

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        self.version = checkpoint.version

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        yield from (played(request, self.version) for request in requests)

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        job.out.mkdir(parents=True)
        (job.out / "model.safetensors").write_text(str(job.version))
        metrics = '{"tokens_trained": 5.0}'
        (job.out / "agentevol.json").write_text(f'{{"version": {job.version}, "metrics": {metrics}}}')
        return LearnReport(job.checkpoint, {"tokens_trained": 5.0})


@dataclass
class Work:
    """What the iterations of a run have read and encoded, by iteration."""

    iteration: int = 0
    rounds: dict[int, list[int | None]] = field(default_factory=lambda: defaultdict(list))
    """Rounds whose explored episodes were read; None is all at once."""
    encoded: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Episodes that were made into sequences."""
    scanned: dict[int, list[int | None]] = field(default_factory=lambda: defaultdict(list))
    """Rounds of which a column was read; None is all."""
    summaries: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Summaries that were parsed."""


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    """Counts of what a run does."""
    counted = Work()
    count_reads(counted, monkeypatch)
    count_sequences_and_summaries(counted, monkeypatch)
    return counted


def count_reads(counted: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    read, scan = Store.trajectories, Store.scan

    def reading(self: Store, where: Where = ALL, **given: Any) -> Iterator[Trajectory]:
        if where.purpose == "explore":
            counted.rounds[counted.iteration].append(where.iteration)
        return read(self, where, **given)

    def scanning(self: Store, where: Where = ALL, **given: Any) -> Any:
        if where.purpose == "explore":
            counted.scanned[counted.iteration].append(where.iteration)
        return scan(self, where, **given)

    monkeypatch.setattr(Store, "trajectories", reading)
    monkeypatch.setattr(Store, "scan", scanning)


def count_sequences_and_summaries(counted: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    explore, encode = Stages.explore, agentevol.data.training_sequences.episode_sequences
    parse = IterationSummary.model_validate_json

    def begun(self: Stages, iteration: int, policy: Checkpoint) -> list[Trajectory]:
        counted.iteration = iteration
        return explore(self, iteration, policy)

    def encoding(*given: Any, **named: Any) -> list[TrainingSequence]:
        counted.encoded[counted.iteration] += 1
        return encode(*given, **named)

    def parsing(*given: Any, **named: Any) -> IterationSummary:
        counted.summaries[counted.iteration] += 1
        return parse(*given, **named)

    monkeypatch.setattr(Stages, "explore", begun)
    monkeypatch.setattr(agentevol.data.training_sequences, "episode_sequences", encoding)
    monkeypatch.setattr(IterationSummary, "model_validate_json", parsing)


def evolved(place: Path, *overrides: str) -> RunFolder:
    """A run of five iterations with 4 episodes of each of 2 tasks."""
    (place / "base").mkdir(parents=True)
    (place / "base" / "model.safetensors").write_text("base")
    settings = ["name=now", "environment.name=guess", "explore.tasks=2", "iterations=5"]
    config = load(None, [*settings, "evaluate.episodes=2", "evaluate.validation_episodes=2", *overrides])
    folder = RunFolder.create(place / "run", config, Checkpoint(place / "base", 0))
    go_on(folder)
    return folder


def go_on(folder: RunFolder) -> None:
    with Stages(
        RunContext.of(folder, Processes(), "", folder.checkpoints.base(), Progress(Console(quiet=True)))
    ) as run:  # pyright: ignore[reportArgumentType]
        evolve(run)


ONE_ROUND_EACH = {1: [1], 2: [2], 3: [3], 4: [4], 5: [5]}


@pytest.mark.parametrize("merge", ["cumulative", "replay"])
def test_each_round_is_read_and_encoded_in_its_own_iteration_alone(tmp_path: Path, work: Work, merge: str):
    folder = evolved(tmp_path, f"select.merge={merge}")
    assert dict(work.rounds) == ONE_ROUND_EACH
    # 3 of 4 episodes of 2 tasks won
    assert dict(work.encoded) == {1: 6, 2: 6, 3: 6, 4: 6, 5: 6}
    sequences = [one.sequences for one in folder.summaries.run().iterations[1:]]
    # a fifth of all learnt tokens is replayed: 2 of 8 sequences; all earlier ones are learnt otherwise
    assert sequences == ([6, 12, 18, 24, 30] if merge == "cumulative" else [6, 8, 8, 8, 8])


def test_the_costs_of_a_round_are_counted_in_its_own_iteration_alone(tmp_path: Path, work: Work):
    folder = evolved(tmp_path, "algorithm=lagrangian", "constraints.turns.limit=1", "explore.samples=64")
    assert dict(work.rounds) == ONE_ROUND_EACH
    found = [one.learn.get("mean_cost_turns") for one in folder.summaries.run().iterations[1:]]
    # the first iteration has no earlier round whose cost it knows
    assert found == [None, 2.0, 2.0, 2.0, 2.0]


def test_a_task_that_was_won_is_looked_up_in_the_latest_round_alone(tmp_path: Path, work: Work):
    folder = evolved(tmp_path, "explore.tasks=10")
    assert [number for scanned in work.scanned.values() for number in scanned if number is None] == []
    assert {number: set(scanned) for number, scanned in work.scanned.items()} == {
        1: {0, 1}, 2: {1, 2}, 3: {2, 3}, 4: {3, 4}, 5: {4, 5},
    }  # fmt: skip
    # of sixteen tasks ten are explored at a time
    newly = [one.selection["tasks_newly_solved"] for one in folder.summaries.run().iterations[1:]]
    assert newly == [10.0, 6.0, 0.0, 0.0, 0.0]


def test_each_summary_is_parsed_once(tmp_path: Path, work: Work):
    evolved(tmp_path, "evaluate.patience=9", "horizon.rounds=[5,9]")
    assert dict(work.summaries) == {1: 2, 2: 1, 3: 1, 4: 1, 5: 1}


def test_a_run_that_has_finished_reads_no_round_again(tmp_path: Path, work: Work):
    folder = evolved(tmp_path)
    work.rounds.clear()
    go_on(folder)
    assert dict(work.rounds) == {}


def test_a_round_that_was_explored_ahead_is_not_kept_after_it_was_handed_out():
    class Round(list[Trajectory]):
        """A list that can be referred to weakly."""

    ahead = AsyncExploration(bound=1, last=3)
    ahead.begin(2, Round)
    kept = weakref.ref(ahead.episodes(2))
    ahead.settle()
    gc.collect()
    assert kept() is None
    assert ahead.missing(2) == [3]
    ahead.close()
