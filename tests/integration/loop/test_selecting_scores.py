"""Selection by the scores of functions, judges and majorities, and the guard against a collapse, in the
loop.
"""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from support.judges import Brief
from support.runs import requested

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling
from agentevol.loop.evolve import evolve
from agentevol.loop.scores.sources import SOURCES
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Sample, Terminated, Trajectory, Turn

pytestmark = pytest.mark.usefixtures("tasks")
RULES = """
def short(episodes):
    return [1.0 if len(episode.turns) == 1 else 0.25 for episode in episodes]
"""


@pytest.fixture(autouse=True)
def rules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module of the user's in the working folder."""
    (tmp_path / "own_scores.py").write_text(RULES)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    sys.modules.pop("own_scores", None)


class Playing:
    """Processes whose episodes have one or two turns by their attempt, and never win but for attempt 3; the
    last turn says a digit. `surprise` is -log p of an action in each iteration.
    """

    def __init__(self, answers: Sequence[str] = "1123", surprise: Sequence[float] = (1.0,) * 9) -> None:
        self.answers, self.surprise = answers, surprise
        self.trained = list[LearnerJob]()

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        pass

    def play(
        self, requests: Sequence[EpisodeRequest], _sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        for request in requests:
            said = [self.answers[request.attempt % len(self.answers)]] * (1 + request.attempt % self.turns)
            won = float(request.attempt == 3)
            turns = [self.turn(request.iteration, text) for text in said]
            last = turns[-1].model_copy(update={"reward": won})
            yield requested(request, turns=(*turns[:-1], last), ending=Terminated())

    turns = 2

    def turn(self, iteration: int, text: str) -> Turn:
        logp = -self.surprise[iteration]
        sample = Sample(text=text, prompt_ids=(1,), token_ids=(2,), logprobs=(logp,), policy_version=0)
        return Turn(action=text, observation="o", reward=0.0, sample=sample)

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        self.trained.append(job)
        job.out.mkdir(parents=True)
        (job.out / "model.safetensors").write_text(f"{job.seed}")
        (job.out / "agentevol.json").write_text('{"version": 1, "metrics": {}}')
        return LearnReport(job.checkpoint, {})


class OneTurn(Playing):
    """Processes with episodes of one turn."""

    turns = 1


def run(
    tmp_path: Path, processes: Any, *overrides: str, iterations: int = 1, told: Console | None = None
) -> RunFolder:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "model.safetensors").write_text("base")
    settings = [
        "name=same",
        "environment.name=guess",
        f"iterations={iterations}",
        "explore.tasks=4",
        "explore.samples=4",
        "evaluate.episodes=2",
        "evaluate.validation_episodes=2",
    ]
    config = load(None, [*settings, *overrides])
    folder = RunFolder.create(tmp_path / "run", config, Checkpoint(tmp_path / "base", 0))
    progress = Progress(told or Console(quiet=True))
    with Stages(RunContext.of(folder, processes, "", folder.checkpoints.base(), progress)) as stages:
        evolve(stages)
    return folder


IMITATED = ("algorithm=sft", "select.distinct=false", "select.merge=none", "select.rule=threshold")


def attempts(job: LearnerJob) -> list[int]:
    return sorted(int(sequence.trajectory_id.rpartition("/")[2]) for sequence in job.sequences)


def test_every_score_of_the_configuration_has_a_source():
    from typing import get_args

    from agentevol.config.sections.selection import Score

    assert set(SOURCES) == set(get_args(Score))


def test_a_function_selects_and_the_outcome_stays_in_the_figures(tmp_path: Path):
    processes = Playing()
    function = ("select.score=reward", "reward.function=own_scores:short", "select.threshold=0.5")
    folder = run(tmp_path, processes, *IMITATED, *function)
    assert attempts(processes.trained[0]) == [0] * 4 + [2] * 4  # episodes of one turn
    one = folder.summaries.run().iterations[1]
    assert one.selection["success"] == 0.25
    assert one.learn["reward_score"] == pytest.approx((1 + 0.25) / 2)
    assert "judge" in read_manifests(folder.path, 1)
    assert "reward" not in read_manifests(folder.path, 1)


def test_return_and_score_add_up_by_their_weights(tmp_path: Path):
    processes = Playing()
    given = ("select.score=reward", "reward.function=own_scores:short", "reward.alpha=2", "reward.beta=0.5")
    run(tmp_path, processes, *IMITATED, *given, "select.threshold=2")
    assert attempts(processes.trained[0]) == [3] * 4  # 2 * 1 + 0.5 * 0.25


def test_a_judge_selects_and_is_asked_once(tmp_path: Path):
    processes, before = Playing(), Brief.asked
    given = ("select.score=judge", "reward.judge=support.judges:Brief", "reward.patience=null")
    folder = run(tmp_path, processes, *IMITATED, *given, "select.threshold=0.85")
    assert attempts(processes.trained[0]) == [0] * 4 + [2] * 4  # a turn costs a tenth
    assert Brief.asked - before == 16
    assert "verdicts" in read_manifests(folder.path, 1)["judge"].inputs


def test_a_policy_gradient_is_rewarded_once_by_the_score(tmp_path: Path):
    processes = Playing()
    given = ("algorithm=grpo", "select.score=reward", "reward.function=own_scores:short", "reward.alpha=1")
    run(tmp_path, processes, *given)
    found = {
        int(sequence.trajectory_id.rpartition("/")[2]): sequence.episode.rewards
        for sequence in processes.trained[0].sequences
        if sequence.episode is not None
    }
    assert found == {0: (1.0,), 1: (0.0, 0.25), 2: (1.0,), 3: (0.0, 1.25)}


def test_the_majority_of_final_answers_is_a_reward(tmp_path: Path):
    processes, told = OneTurn(), Console(record=True, width=200)
    folder = run(tmp_path, processes, "algorithm=grpo", "reward.consistency=true", told=told)
    found = {
        int(sequence.trajectory_id.rpartition("/")[2]): sequence.episode.rewards
        for sequence in processes.trained[0].sequences
        if sequence.episode is not None
    }
    assert found == {0: (1.0,), 1: (1.0,), 2: (0.0,), 3: (0.0,)}
    learnt = folder.summaries.run().iterations[1].learn
    assert learnt["majority_right"] == 0.0  # only attempt 3 wins
    assert learnt["majority_share"] == 0.5
    assert "4 tasks with a majority of final answers, 0.0% of them right" in told.export_text()


def test_tasks_whose_samples_all_agree_are_not_learnt(tmp_path: Path):
    processes = OneTurn(answers="1")
    run(tmp_path, processes, "algorithm=grpo", "reward.consistency=true")
    assert [job for job in processes.trained if job.sequences] == []


def test_the_majority_selects_what_is_imitated(tmp_path: Path):
    processes = OneTurn()
    run(tmp_path, processes, *IMITATED, "select.score=reward", "reward.consistency=true")
    assert attempts(processes.trained[0]) == [0] * 4 + [1] * 4


def test_episodes_without_answers_stop_a_run_that_compares_them(tmp_path: Path):
    with pytest.raises(RunStopped, match="none of 16 episodes of guess ended with one"):
        run(tmp_path, Playing(), "algorithm=grpo", "reward.consistency=true")


FALLING = (0.0, 2.0, 0.9, 0.8, 0.7, 0.7)


def test_a_collapse_is_told_once_and_the_run_goes_on(tmp_path: Path):
    told = Console(record=True, width=200)
    folder = run(tmp_path, Playing(surprise=FALLING), iterations=5, told=told)
    text = told.export_text()
    assert text.count("warning, entropy of an action 0.8, below half of iteration 1's 2 twice in a row") == 1
    assert text.count("twice in a row") == 1
    assert len(folder.summaries.finished()) == 6
    assert folder.summaries.run().iterations[3].selection["action_entropy"] == pytest.approx(0.8)


def test_a_collapse_stops_the_run_where_that_is_asked_for(tmp_path: Path):
    folder = run(tmp_path, Playing(surprise=FALLING), "guards.collapse=stop", iterations=5)
    assert folder.summaries.finished() == [0, 1, 2, 3]


def test_without_the_guard_nothing_is_told(tmp_path: Path):
    told = Console(record=True, width=200)
    run(tmp_path, Playing(surprise=FALLING), "guards.collapse=off", iterations=5, told=told)
    assert "in a row" not in told.export_text()
