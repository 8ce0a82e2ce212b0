"""What the stages of a run read and made: equal for equal seeds, different for different data."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from support.run_processes import learnt
from support.runs import episode_request, requested

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import (
    Checkpoint,
    EpisodeFacts,
    LearnerJob,
    LearnReport,
    Sampling,
    TrainingSequence,
)
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.data.hashes import of_sequences
from agentevol.data.manifests import Manifest, of_episodes, of_scores, of_weights
from agentevol.loop.evolve import evolve
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import note_manifest, read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Failed, Sample, Trajectory, Turn
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("tasks")


def played(request: EpisodeRequest, version: int, **changes: Any) -> Trajectory:
    """One turn of one token, a function of the request's seed; an even one wins."""
    token = 2 + request.seed % 5
    sample = Sample(text="", prompt_ids=(1,), token_ids=(token,), logprobs=(-1.0,), policy_version=version)
    won = float(request.seed % 2 == 0)
    turn = Turn(action=str(token), observation="o", reward=won, sample=sample)
    plain = requested(request, turns=(turn,))
    return plain.model_copy(update=changes)


class Killed(Exception):
    """What ends a run in a test."""


class Processes:
    """Stands in for the processes of a run; killed after `episodes` have been played or in learning."""

    def __init__(self, *, episodes: int = 10_000, learns: bool = True) -> None:
        self.left, self.learns, self.version = episodes, learns, 0
        self.limits: set[tuple[str, int, int | None]] = set()

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        self.version = checkpoint.version

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        for request in requests:
            if not self.left:
                raise Killed
            self.left -= 1
            self.limits.add((request.purpose, request.iteration, request.max_turns))
            yield played(request, self.version)

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        if not self.learns:
            raise Killed
        return learnt(job, job.seed)


def begun(place: Path, *overrides: str) -> RunFolder:
    (place / "base").mkdir(parents=True)
    (place / "base" / "model.safetensors").write_text("base")
    settings = [
        "name=now",
        "environment.name=guess",
        "explore.tasks=6",
        "iterations=2",
    ]
    config = load(None, [*settings, "evaluate.episodes=2", "evaluate.validation_episodes=2", *overrides])
    return RunFolder.create(place / "run", config, Checkpoint(place / "base", 0))


def go_on(folder: RunFolder, processes: Any) -> None:
    with Stages(
        RunContext.of(folder, processes, "", folder.checkpoints.base(), Progress(Console(quiet=True)))
    ) as run:
        evolve(run)


def manifests(folder: RunFolder) -> list[bytes]:
    return [file.read_bytes() for file in sorted((folder.path / "manifests").glob("*.json"))]


def figures(folder: RunFolder) -> list[object]:
    """What the summaries say, apart from times and from when the table was written."""
    found = folder.summaries.run().iterations
    return [
        one.model_copy(update={"seconds": {}, "system": {}, "table_version": 0, "replayed": 0})
        for one in found
    ]


def test_each_stage_says_what_it_read_and_made(tmp_path: Path):
    folder = begun(tmp_path)
    go_on(folder, Processes())
    assert list(read_manifests(folder.path, 0)) == ["evaluate"]
    found = read_manifests(folder.path, 2)
    assert list(found) == ["explore", "score", "filter", "merge", "train", "evaluate"]
    before = read_manifests(folder.path, 1)["train"].output
    assert before == of_weights(folder.checkpoints.accepted(1).path)
    assert found["explore"].inputs == {"policy": before}
    assert found["score"].inputs == {"explore": found["explore"].output}
    assert found["filter"].inputs == {"explore": found["explore"].output, "score": found["score"].output}
    # beside its own sequences it learns those of the first iteration
    first = read_manifests(folder.path, 1)["merge"].output
    assert found["merge"].inputs == {"filter": found["filter"].output, "added": first}
    assert found["train"].inputs == {"merge": found["merge"].output, "start": before}
    assert found["evaluate"].inputs == {"policy": found["train"].output}
    assert {stage: (one.seed, one.policy_version) for stage, one in found.items()} == {
        **dict.fromkeys(("explore", "score"), (0, 1)),
        **dict.fromkeys(("filter", "merge", "train"), (2, 1)),
        "evaluate": (0, 2),
    }


def test_equal_seeds_make_equal_manifests_and_others_do_not(tmp_path: Path):
    one, again, other = begun(tmp_path / "1"), begun(tmp_path / "2"), begun(tmp_path / "3", "seed=1")
    for folder in (one, again, other):
        go_on(folder, Processes())
    assert manifests(one) == manifests(again)
    assert figures(one) == figures(again)
    assert read_manifests(one.path, 1)["explore"].output != read_manifests(other.path, 1)["explore"].output


ONE_STEP_OFF = ["rollout.mode=one_step_off", "iterations=3"]
RESAMPLED = ["algorithm=grpo", "explore.tasks=3", "explore.samples=2", "explore.resample=3"]


@pytest.mark.parametrize(
    ("overrides", "lives"),
    [([], 11), (["select.merge=replay"], 11), (RESAMPLED, 4), (ONE_STEP_OFF, 11)],
    ids=["cumulative", "replay", "resample", "one_step_off"],
)
def test_a_run_killed_at_any_episode_has_the_manifests_and_figures_of_an_undisturbed_one(
    tmp_path: Path, overrides: list[str], lives: int
):
    """`lives`: after how many episodes it is killed each time; the last one or two were not yet committed."""
    calm = begun(tmp_path / "calm", *overrides)
    go_on(calm, Processes())
    rough = begun(tmp_path / "rough", *overrides, "explore.commit_every=3")
    kills = 0
    while True:
        try:
            go_on(rough, Processes(episodes=lives))
            break
        except Killed:
            kills += 1
            with pytest.raises(Killed):  # and whenever it comes to learning, once before it has
                go_on(rough, Processes(episodes=0, learns=False))
    assert kills > 3
    assert manifests(rough) == manifests(calm)
    assert figures(rough) == figures(calm)
    if overrides is RESAMPLED:
        assert calm.summaries.run().iterations[1].selection["gen_batches_used"] > 1


def test_one_step_off_explores_with_the_weights_before_the_last(tmp_path: Path):
    folder = begun(tmp_path, *ONE_STEP_OFF)
    go_on(folder, Processes())
    sampled_by = {
        number: {
            turn.sample.policy_version
            for t in folder.store.trajectories(Where(purpose="explore", iteration=number))
            for turn in t.turns
            if turn.sample
        }
        for number in (1, 2, 3)
    }
    assert sampled_by == {1: {0}, 2: {0}, 3: {1}}
    lags = [one.selection["policy_version_lag_max"] for one in folder.summaries.run().iterations[1:]]
    assert lags[0] == 0.0
    assert read_manifests(folder.path, 3)["explore"].policy_version == 1
    evaluated = {
        (t.iteration, t.turns[0].sample.policy_version)
        for t in folder.store.trajectories(Where(purpose="evaluate"))
        if t.turns[0].sample
    }
    assert evaluated == {(number, number) for number in range(4)}


class Stalest(Processes):
    """Learns an iteration once all rounds that may be explored beside it have been: none can be staler."""

    def __init__(self, bound: int, last: int) -> None:
        super().__init__()
        self.bound, self.explored = bound, {number: Event() for number in range(1, last + 1)}

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        yield from super().play(requests, sampling)
        if requests[0].purpose == "explore":
            self.explored[requests[0].iteration].set()

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        iteration = job.checkpoint.version
        for number in range(iteration + 1, iteration + self.bound + 1):
            assert number not in self.explored or self.explored[number].wait(60)
        return super().learn(job)


@pytest.mark.parametrize(("bound", "lags"), [(1, [0, 1, 1, 1, 1]), (3, [0, 1, 2, 3, 3])])
def test_an_asynchronous_run_never_learns_what_is_staler_than_its_bound(
    tmp_path: Path, bound: int, lags: list[int]
):
    folder = begun(
        tmp_path, "rollout.mode=asynchronous", f"rollout.max_staleness={bound}", "iterations=5",
        "algorithm=grpo", "explore.samples=2",
    )  # fmt: skip
    go_on(folder, Stalest(bound, 5))
    iterations = folder.summaries.run().iterations[1:]
    assert [one.selection["policy_version_lag_max"] for one in iterations] == lags
    assert all(sum(one.explored.values()) == one.requested == 12 for one in iterations)


def test_the_horizon_is_noted_and_evaluations_have_none(tmp_path: Path):
    folder, processes = begun(tmp_path, "horizon.rounds=[3,5]"), Processes()
    go_on(folder, processes)
    start, first, second = folder.summaries.run().iterations
    assert [one.selection.get("horizon") for one in (start, first, second)] == [None, 3.0, 5.0]
    assert processes.limits == {
        *(("explore", 1, 3), ("explore", 2, 5)),
        *(("evaluate", number, None) for number in range(3)),
    }


def test_an_evaluation_says_what_changed_since_the_one_before(tmp_path: Path):
    folder = begun(tmp_path, "evaluate.episodes=8")
    go_on(folder, Processes())
    won = [
        {t.task_id: t.succeeded() for t in folder.store.trajectories(Where(purpose="evaluate", iteration=m))}
        for m in range(3)
    ]
    start, *later = folder.summaries.run().iterations
    assert [(one.gained, one.lost) for one in _evaluations(start)] == [(None, None)] * 2
    found = [(one.gained, one.lost) for summary in later for one in _evaluations(summary)]
    expected: list[tuple[int, int]] = []
    for before, now in pairwise(won):
        for split in ("test", "valid"):
            changes = [now[task] - before[task] for task in now if task.startswith(split)]
            expected.append((changes.count(1), changes.count(-1)))
    assert found == expected
    assert any(gained for gained, _ in expected)


def _evaluations(one: IterationSummary) -> list[EvaluationSummary]:
    return [both for both in (one.evaluation, one.validation) if both is not None]


def test_a_split_without_further_tasks_ends_the_resampling(tmp_path: Path):
    # of sixteen tasks fourteen are asked for, then the two that are left
    folder = begun(tmp_path, *RESAMPLED, "explore.tasks=14")
    go_on(folder, Processes())
    one = folder.summaries.run().iterations[1]
    assert one.selection["gen_batches_used"] == 2.0
    assert one.requested == sum(one.explored.values()) == 2 * 16


REQUEST = episode_request(id="a", seed=4)


def test_times_names_and_last_bits_are_not_in_a_hash_and_what_was_done_is():
    one = played(REQUEST, 0)
    (turn,) = one.turns
    assert turn.sample is not None
    nearly = turn.model_copy(update={"sample": turn.sample.model_copy(update={"logprobs": (-1.0000001,)})})
    later = {"started_at": "2027-01-01T00:00:00Z", "wall_s": 9.0, "policy": "q", "turns": (nearly,)}
    assert of_episodes([one]) == of_episodes([one.model_copy(update=later)])
    changes: list[dict[str, Any]] = [
        {"seed": 6},
        {"turns": (turn.model_copy(update={"action": "5"}),)},
        {"turns": (turn.model_copy(update={"reward": 0.5}),)},
        {
            "turns": (
                turn.model_copy(update={"sample": turn.sample.model_copy(update={"policy_version": 1})}),
            )
        },
        {"ending": Failed(failure="policy")},
    ]
    hashes = {of_episodes([one.model_copy(update=change)]) for change in changes}
    assert len(hashes | {of_episodes([one])}) == 1 + len(changes)
    other = one.model_copy(update={"id": "b"})
    assert of_episodes([one, other]) == of_episodes([other, one])
    # a failed episode has no score, which is not a score of 0
    lost = one.model_copy(update={"turns": (turn.model_copy(update={"reward": 0.0}),)})
    assert of_scores([lost]) != of_scores([lost.model_copy(update={"ending": Failed(failure="policy")})])


def test_sequences_differ_by_tokens_mask_weight_reward_and_order():
    facts = EpisodeFacts(
        group="g", rewards=(1.0,), anchors=("",), modes=(0,), invalid=(False,), truncated=False
    )
    sequence = TrainingSequence(
        token_ids=np.array([1, 2], dtype=np.int32),
        mask=np.array([False, True]),
        rollout_logp=np.array([np.nan, -1.0], dtype=np.float32),
        weight=1.0,
        trajectory_id="a",
        episode=facts,
    )
    others = [
        replace(sequence, token_ids=np.array([1, 3], dtype=np.int32)),
        replace(sequence, mask=np.array([False, False])),
        replace(sequence, weight=0.5),
        replace(sequence, episode=replace(facts, rewards=(0.5,))),
        replace(sequence, trajectory_id="b"),
    ]
    assert len({of_sequences([sequence]), *(of_sequences([other]) for other in others)}) == 1 + len(others)
    assert of_sequences([sequence, others[0]]) != of_sequences([others[0], sequence])


def test_a_manifest_of_a_stage_takes_the_place_of_an_earlier_one(tmp_path: Path):
    folder = begun(tmp_path)
    first = Manifest(inputs={}, output="sha256:1", seed=0, policy_version=0)
    note_manifest(folder.path, 1, "explore", first)
    note_manifest(folder.path, 1, "score", first)
    note_manifest(folder.path, 1, "explore", first.model_copy(update={"output": "sha256:2"}))
    assert {stage: one.output for stage, one in read_manifests(folder.path, 1).items()} == {
        "explore": "sha256:2",
        "score": "sha256:1",
    }
    assert [file.name for file in (folder.path / "manifests").iterdir()] == ["0001.json"]


class Failing(Processes):
    """Every episode fails."""

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        broken = Failed(failure="internal", detail="KeyError: 'place'")
        for one in super().play(requests, sampling):
            yield one.model_copy(update={"ending": broken})


def test_a_run_whose_episodes_all_fail_stops_with_the_first_above_its_limit_and_keeps_them(tmp_path: Path):
    folder = begun(tmp_path, "evaluate.episodes=16", "explore.commit_every=1")  # 5 % of 16 are none
    with pytest.raises(
        RunStopped, match=r"1 of 16 episodes failed, .*1 failed\(internal\); for example KeyError"
    ):
        go_on(folder, Failing())
    assert len(list(folder.store.trajectories())) == 1
