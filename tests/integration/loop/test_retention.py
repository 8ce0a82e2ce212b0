"""Retention in the loop: old sequences beside new ones, and updates that are rejected."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from support.trajectories import trajectory

import agentevol.loop.stages.acceptance
from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Anchor, Checkpoint, LearnerJob, LearnReport, TrainingSequence
from agentevol.core.summaries import EvaluationSummary, IterationSummary
from agentevol.data.training_sequences import imitated
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.loop.stages.data_mixture import DataMixture
from agentevol.loop.stages.evaluation import Evaluation
from agentevol.loop.stages.interpolation_search import best_share
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentevol.rollout.tasks import EnvTask
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.store import Store


class Learning:
    """Stands in for the learner's process: writes a file that names its update."""

    def __init__(self, *, nothing: bool = False) -> None:
        self.nothing = nothing
        self.anchors: list[Anchor | None] = []

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        if self.nothing:
            raise NothingToLearn("no sequence")
        self.anchors.append(job.anchor)
        job.out.mkdir(parents=True)
        (job.out / "weights").write_text(f"update {job.version}")
        (job.out / "agentevol.json").write_text('{"version": 1, "metrics": {"loss_last": 0.5}}')
        return LearnReport(job.checkpoint, {"logp_gap": 0.0, "loss_last": 0.5})

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        """Take the weights, as rollout workers do."""


def won(run: str, iteration: int, attempt: int, **changes: Any) -> Trajectory:
    """One turn of one learnt token, sampled by the policy before this iteration."""
    sample = Sample(
        text="",
        prompt_ids=(1,),
        token_ids=(2 + attempt,),
        logprobs=(-1.0,),
        policy_version=max(0, iteration - 1),
    )
    turn = Turn(action=f"{iteration} {attempt}", observation="o", reward=1.0, sample=sample)
    plain = trajectory(
        id=f"{run}/explore/{iteration:04d}/t/{attempt}",
        run=run,
        iteration=iteration,
        task_id=f"t{iteration}",
        attempt=attempt,
        initial_observation="start",
        turns=(turn,),
    )
    return plain.model_copy(update=changes)


def begun(tmp_path: Path, cluster: Any, *overrides: str) -> tuple[Stages, RunFolder]:
    base = tmp_path / "base"
    base.mkdir(exist_ok=True)
    (base / "weights").write_text("base")
    settings = ["name=now", "environment.name=guess", "select.per_task=null", *overrides]
    folder = RunFolder.create(tmp_path / "run", load(None, settings), Checkpoint(base, 0))
    return resumed(folder, cluster), folder


def resumed(folder: RunFolder, cluster: Any) -> Stages:
    return Stages(
        RunContext.of(folder, cluster, "", folder.checkpoints.accepted(0), Progress(Console(quiet=True)))
    )


def explored(folder: RunFolder, iterations: int, count: int = 8) -> list[Trajectory]:
    """Episodes of every iteration up to this one, in the table; those of the last."""
    for iteration in range(1, iterations + 1):
        batch = [won("now", iteration, attempt) for attempt in range(count)]
        folder.store.append(batch, commit={"iteration": str(iteration)})
    return batch


NONE: list[TrainingSequence] = []


def names(sequences: Sequence[TrainingSequence]) -> list[str]:
    return [sequence.trajectory_id for sequence in sequences]


def test_a_share_of_earlier_sequences_is_learnt_beside_new_ones(tmp_path: Path):
    run, folder = begun(tmp_path, Learning(), "select.merge=replay", "replay.fraction=0.5")
    fresh = explored(folder, 3)
    sequences = run.select(3, fresh)
    # 8 new tokens and half of all: 8 of the 16 earlier ones
    assert len(sequences) == 16
    assert names(sequences[:8]) == [t.id for t in fresh]
    assert [sequence.replayed for sequence in sequences] == [False] * 8 + [True] * 8
    # a run that is resumed replays the same ones
    assert names(resumed(folder, Learning()).select(3, fresh)) == names(sequences)
    # in the first iteration there is nothing to replay
    assert len(run.select(1, fresh)) == 8


def test_without_replay_all_earlier_sequences_are_learnt_and_none_is_marked(tmp_path: Path):
    run, folder = begun(tmp_path, Learning())
    sequences = run.select(3, explored(folder, 3))
    assert len(sequences) == 24
    assert not any(sequence.replayed for sequence in sequences)


def test_where_nothing_was_won_only_the_experts_sequences_are_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run, folder = begun(tmp_path, Learning(), "select.merge=expert", "demonstrations.tasks=1")
    shown = won("now", 0, 0, id="now/demonstrate/0000/t/0", purpose="demonstrate")
    folder.store.append([shown], commit={"iteration": "0"})
    (sequence,) = imitated([shown], run.context.objective, SelectConfig(turns="all"))
    monkeypatch.setattr(DataMixture, "demonstrations", lambda _: [sequence])
    lost = [won("now", 1, n) for n in range(4)]
    lost = [t.model_copy(update={"turns": (t.turns[0].model_copy(update={"reward": 0.0}),)}) for t in lost]
    folder.store.append(lost, commit={"iteration": "1"})
    assert names(run.select(1, lost)) == ["now/demonstrate/0000/t/0"]
    draft = run.context.drafts.of(1)
    assert (draft.selected, draft.selection["success"], draft.selection["keep_rate"]) == (0, 0.0, 0.0)
    assert draft.data == {
        "guess": {
            "token_share": 1.0,
            **{
                "sequences_new": 0.0,
                "sequences_earlier": 0.0,
                "sequences_expert": 1.0,
                "explored_to_expert": 0.0,
            },
            **{"mean_weight": 1.0, "effective_sample_size": 1.0},
        }
    }
    # with a win beside it, both are learnt
    assert len(run.select(1, [*lost, won("now", 1, 9)])) == 2


def test_replayed_sequences_are_counted_in_their_own_environment_and_learnt_turns_by_age(tmp_path: Path):
    before = [won("before", 1, attempt, env="maze") for attempt in range(4)]
    Store.open(tmp_path / "before" / "trajectories", create=True).append(before, commit={"run": "before"})
    given = ["select.merge=replay", f"retained.data={tmp_path / 'before'}", "replay.fraction=0.5"]
    run, folder = begun(tmp_path, Learning(), *given)
    sequences = run.select(3, explored(folder, 3))
    draft = run.context.drafts.of(3)
    maze = sum("before" in name for name in names(sequences))
    assert 0 < maze < 8
    assert {
        name: (each["sequences_new"], each["sequences_earlier"]) for name, each in draft.data.items()
    } == {
        "guess": (8.0, 8.0 - maze),
        "maze": (0.0, float(maze)),
    }
    # sampled by versions 0 to 2; what another run's policy sampled has no age
    lags = [3 - int(name.split("/")[2]) for name in names(sequences) if "before" not in name]
    assert draft.selection["policy_version_lag_mean"] == pytest.approx(sum(lags) / len(lags))
    assert draft.selection["policy_version_lag_max"] == max(lags) > 0


def test_what_is_stale_is_left_out_and_counted(tmp_path: Path):
    run, folder = begun(tmp_path, Learning(), "select.max_lag=1")
    fresh = explored(folder, 3)
    # sampled by versions 0, 1 and 2, of which 2 is the newest
    assert {name.split("/")[2] for name in names(run.select(3, fresh))} == {"0002", "0003"}
    assert run.context.drafts.of(3).stale == 8
    run.select(2, fresh)
    assert run.context.drafts.of(2).stale == 0


def test_retained_episodes_are_copied_once_and_replayed_and_measured(tmp_path: Path):
    before = [won("before", 1, attempt, env="maze") for attempt in range(4)]
    Store.open(tmp_path / "before" / "trajectories", create=True).append(before, commit={"run": "before"})
    given = ["select.merge=replay", f"retained.data={tmp_path / 'before'}", "learn.ewc.strength=1"]
    cluster = Learning()
    run, folder = begun(tmp_path, cluster, *given, "replay.fraction=0.2")
    run.base()
    (tmp_path / "before").rename(tmp_path / "gone")  # a run stands on its own
    again = resumed(folder, cluster)
    again.base()
    sequences = again.select(1, explored(folder, 1))
    assert names(sequences[8:]) == [sequence.trajectory_id for sequence in sequences if sequence.replayed]
    assert len(sequences) == 10  # 2 of 10 tokens
    data = again.context.drafts.of(1).data
    assert (data["guess"]["token_share"], data["maze"]["token_share"]) == (0.8, 0.2)
    assert all(sequence.trajectory_id.startswith("now/retain/before/explore/") for sequence in sequences[8:])
    again.learn(1, folder.checkpoints.accepted(0), sequences)
    (anchor,) = cluster.anchors
    assert anchor.checkpoint == folder.checkpoints.accepted(0)
    assert len(anchor.sequences) == 4
    assert anchor.file == folder.path / "ewc.safetensors"


def test_online_the_latest_accepted_stage_is_what_is_held_on_to(tmp_path: Path):
    given = [f"retained.data={tmp_path / 'before'}", "learn.ewc.strength=1", "learn.ewc.online=true"]
    before = [won("before", 1, attempt) for attempt in range(4)]
    Store.open(tmp_path / "before" / "trajectories", create=True).append(before, commit={"run": "before"})
    cluster = Learning()
    run, folder = begun(tmp_path, cluster, *given)
    explored(folder, 3)
    run.learn(1, folder.checkpoints.accepted(0), NONE)
    for number, learnt, rejected in ((0, 0, None), (1, 24, None), (2, 24, "easy fell")):
        told = {"iteration": number, "checkpoint": "", "table_version": 0}
        folder.summaries.finish(IterationSummary(**told, trained_tokens=learnt, rejected=rejected))
    folder.checkpoints.repeat(folder.checkpoints.accepted(1), folder.checkpoints.accepted(2))
    # resumed or not: iteration 3 goes on from checkpoint 2, a copy of 1, and what 1 had learnt
    for again in (run, resumed(folder, cluster)):
        again.learn(3, folder.checkpoints.accepted(2), NONE)
        shutil.rmtree(folder.checkpoints.accepted(3).path)
    first, third, resumed_third = cluster.anchors
    assert first.checkpoint == folder.checkpoints.accepted(0)
    assert {sequence.trajectory_id.split("/")[1] for sequence in first.sequences} == {"retain"}
    assert third.checkpoint == folder.checkpoints.accepted(2)
    assert {sequence.trajectory_id.split("/")[2] for sequence in third.sequences} == {"0001"}
    assert (third.file, first.file) == (None, None)
    assert names(resumed_third.sequences) == names(third.sequences)
    assert all(
        (sequence.unit, sequence.side, sequence.weight) == ("", 0, 1.0) for sequence in third.sequences
    )


def test_a_missing_table_is_told_before_anything_is_played(tmp_path: Path):
    run, _ = begun(tmp_path, Learning(), "select.merge=replay", "retained.data=nowhere")
    with pytest.raises(ConfigError, match="no data at nowhere"):
        run.base()


PROTECT = "protect.easy.episodes=100"


def guarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, successes: dict[str, int], cluster: Any
) -> tuple[Stages, RunFolder]:
    """A run whose protected tasks are won so often by weights of these names."""

    def played(_episodes: Any, _config: Any, _iteration: int, policy: Checkpoint) -> dict[str, Any]:
        count = successes[(policy.path / "weights").read_text()]
        summary = EvaluationSummary(split="valid", n=100, successes=count, mean_reward=0, mean_turns=1)
        return {"easy": summary}

    monkeypatch.setattr(agentevol.loop.stages.acceptance, "play_protected", played)
    run, folder = begun(tmp_path, cluster, PROTECT)
    monkeypatch.setattr(Evaluation, "of", lambda *_: None)
    run.update(0, folder.checkpoints.accepted(0))
    run.evaluate(0, folder.checkpoints.accepted(0))
    return run, folder


def test_an_update_that_forgets_is_rejected_and_the_policy_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    run, folder = guarded(tmp_path, monkeypatch, {"base": 80, "update 1": 50}, Learning())
    update = run.learn(1, folder.checkpoints.accepted(0), NONE)
    assert update == folder.checkpoints.candidate(1)
    assert not folder.checkpoints.accepted(1).path.exists()
    latest = run.accept(1, update)
    assert latest == folder.checkpoints.accepted(1)
    assert (latest.path / "weights").read_text() == "base"
    assert (folder.checkpoints.rejected(1).path / "weights").read_text() == "update 1"
    run.update(1, latest)
    run.evaluate(1, latest)
    summary = folder.summaries.of(1)
    assert summary is not None
    assert summary.rejected == "easy fell by 0.300, more than 0.129"
    assert (summary.learn["rejected"], summary.learn["forgetting_easy"]) == (1.0, pytest.approx(0.3))
    assert summary.protected["easy"].successes == 50


def test_an_update_that_does_not_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run, folder = guarded(tmp_path, monkeypatch, {"base": 80, "update 1": 79}, Learning())
    latest = run.accept(1, run.learn(1, folder.checkpoints.accepted(0), NONE))
    assert (latest.path / "weights").read_text() == "update 1"
    assert not folder.checkpoints.candidate(1).path.exists()
    run.update(1, latest)
    run.evaluate(1, latest)
    summary = folder.summaries.of(1)
    assert summary is not None
    assert (summary.rejected, summary.learn["rejected"]) == (None, 0.0)


@pytest.mark.parametrize("copied_only", [False, True])
def test_a_run_that_was_killed_after_the_verdict_comes_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copied_only: bool
):
    # the stand-in for the table: the update still earns 50, wherever its weights lie now
    earns = {"base": 80, "update 1": 50}
    run, folder = guarded(tmp_path, monkeypatch, earns, Learning())
    run.accept(1, run.learn(1, folder.checkpoints.accepted(0), NONE))
    if copied_only:  # killed between the two halves of a rejection
        folder.checkpoints.rejected(1).path.rename(folder.checkpoints.candidate(1).path)

    def played(*_: Any) -> dict[str, Any]:
        return {"easy": EvaluationSummary(split="v", n=100, successes=50, mean_reward=0, mean_turns=1)}

    monkeypatch.setattr(
        agentevol.loop.stages.acceptance, "play_protected", played
    )  # what the table says of iteration 1
    again = resumed(folder, Learning())
    latest = again.accept(1, again.learn(1, folder.checkpoints.accepted(0), NONE))
    assert (latest.path / "weights").read_text() == "base"
    assert (folder.checkpoints.rejected(1).path / "weights").read_text() == "update 1"
    again.update(1, latest)
    again.evaluate(1, latest)
    summary = folder.summaries.of(1)
    assert summary is not None
    assert summary.learn["loss_last"] == 0.5  # of the rejected update, not of the one before
    assert summary.rejected is not None


def test_where_nothing_was_learnt_the_copy_is_judged_as_any(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    run, folder = guarded(tmp_path, monkeypatch, {"base": 80}, Learning(nothing=True))
    latest = run.accept(1, run.learn(1, folder.checkpoints.accepted(0), NONE))
    assert (latest.path / "weights").read_text() == "base"
    assert latest == folder.checkpoints.accepted(1)
    assert not folder.checkpoints.rejected(1).path.exists()


def test_without_protected_tasks_an_update_is_a_checkpoint_at_once(tmp_path: Path):
    run, folder = begun(tmp_path, Learning())
    update = run.learn(1, folder.checkpoints.accepted(0), NONE)
    assert update == folder.checkpoints.accepted(1)
    assert run.accept(1, update) == update
    assert not (folder.path / "candidates").exists()


class Mixing(Learning):
    """Writes mixtures whose weights name their share, and says how perplexing the probe is."""

    def __init__(self) -> None:
        super().__init__()
        self.mixed: list[str] = []
        self.probed: list[tuple[str, int]] = []

    def interpolate(self, previous: Checkpoint, learnt: Checkpoint, share: float, out: Checkpoint) -> None:
        weights = [(one.path / "weights").read_text() for one in (previous, learnt)]
        out.path.mkdir(parents=True)
        (out.path / "weights").write_text(f"{share:g} of {weights[1]} with {weights[0]}")
        self.mixed.append(out.path.name)

    def perplexity(self, checkpoint: Checkpoint, sequences: Sequence[TrainingSequence]) -> float:
        self.probed.append(((checkpoint.path / "weights").read_text(), len(sequences)))
        return 7.0


class Table:
    """Stands in for the episodes: who plays what wins so often, and nothing is played twice."""

    def __init__(self, successes: dict[str, int]) -> None:
        self.successes, self.played = successes, dict[str, Trajectory]()

    def tasks(self, split: str, difficulty: str | None, choose: Any, env: str | None = None) -> list[EnvTask]:
        return [
            EnvTask(task_id=f"{split}/{number}", split=split, kind="", difficulty="", instruction="")
            for number in range(10)
        ]

    def request(self, *given: Any, env: str | None = None) -> EpisodeRequest:
        purpose, iteration, task, attempt = given
        seed = 100 * attempt + int(task.task_id.split("/")[1])
        name = f"{purpose}/{iteration}/{env}/{task.task_id}/{attempt}"
        return EpisodeRequest(
            id=name, run="now", iteration=iteration, purpose=purpose, env=env or "guess", kind="",
            task_id=task.task_id, split="valid", difficulty="", instruction="", seed=seed, attempt=attempt,
        )  # fmt: skip

    def play(self, purpose: str, iteration: int, policy: Checkpoint, requests: Any, sampling: Any) -> None:
        missing = [request for request in requests if request.id not in self.played]
        assert not missing or policy.path.is_dir()
        for request in missing:
            lucky = request.seed % 100 < self.successes[(policy.path / "weights").read_text()]
            turn = Turn(action="a", observation="", reward=float(lucky))
            self.played[request.id] = won(
                "now", iteration, 0, id=request.id, turns=(turn,), seed=request.seed
            )

    def of(self, purpose: str, iteration: int) -> list[Trajectory]:
        return list(self.played.values())

    def ids(self, purpose: str, iteration: int) -> set[str]:
        return set(self.played)

    def stop_if_too_many_failed(self, played: Any) -> None:
        pass


SHARES = ["interpolate.shares=[0.25,0.5]"]


@pytest.mark.parametrize("guarded", [False, True])
def test_the_share_that_validates_best_stays_whenever_the_run_is_killed(tmp_path: Path, guarded: bool):
    won_by = {"update 1": 6, "0.25 of update 1 with base": 5, "0.5 of update 1 with base": 8}
    cluster, table = Mixing(), Table(won_by)
    run, folder = begun(tmp_path, cluster, *SHARES, *(["protect.easy.episodes=10"] if guarded else []))
    run = Stages(replace(run.context, episodes=cast(Any, table)))
    whole = run.learn(1, folder.checkpoints.accepted(0), NONE)
    assert whole == folder.checkpoints.learnt(1)
    chosen = run.mix(1, whole)
    assert chosen == (folder.checkpoints.candidate(1) if guarded else folder.checkpoints.accepted(1))
    assert (chosen.path / "weights").read_text() == "0.5 of update 1 with base"
    figures = run.context.drafts.of(1).learn
    assert figures["interpolation_share"] == 0.5
    assert [figures[f"interpolation_success_{share}"] for share in ("0.25", "0.5", "1")] == [0.5, 0.8, 0.6]
    # all candidates play the same worlds
    assert {t.seed for t in table.played.values()} == set(range(10))

    # killed after the choice, before the verdict
    again = Stages(replace(resumed(folder, cluster).context, episodes=cast(Any, table)))
    assert again.mix(1, again.learn(1, folder.checkpoints.accepted(0), NONE)) == chosen
    assert again.context.drafts.of(1).learn["interpolation_share"] == 0.5
    assert cluster.mixed == ["0001-0.25", "0001-0.5"]
    place = {"iteration": 1, "checkpoint": "", "table_version": 0}
    folder.summaries.finish(IterationSummary(**place))
    folder.forget_shares()
    assert not any((folder.path / "learnt").iterdir())
    assert not any((folder.path / "mixed").iterdir())


def test_of_equal_shares_the_largest_stays_and_where_nothing_was_learnt_none_is_tried(tmp_path: Path):
    assert best_share({0.25: 0.5, 0.5: 0.8, 1.0: 0.8}) == 1.0
    run, folder = begun(tmp_path, Learning(nothing=True), *SHARES)
    update = run.learn(1, folder.checkpoints.accepted(0), NONE)
    assert update == folder.checkpoints.accepted(1)
    assert run.mix(1, update) == update


def test_the_probe_is_copied_once_and_told_of_every_policy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    before = [won("before", 1, attempt) for attempt in range(4)]
    Store.open(tmp_path / "before" / "trajectories", create=True).append(before, commit={"run": "before"})
    cluster = Mixing()
    run, folder = begun(tmp_path, cluster, f"probe.data={tmp_path / 'before'}", "probe.sequences=3")
    run.base()
    (tmp_path / "before").rename(tmp_path / "gone")  # a run stands on its own
    monkeypatch.setattr(Evaluation, "of", lambda *_: None)
    again = resumed(folder, cluster)
    again.base()
    again.evaluate(0, folder.checkpoints.accepted(0))
    assert cluster.probed == [("base", 3)]
    summary = folder.summaries.of(0)
    assert summary is not None
    assert summary.learn == {"probe_ppl": 7.0}
    (first, *_) = again.mixture.probe()
    assert first.token_ids.tolist()[0] == 1
    assert first.mask.tolist() == [False, True]
