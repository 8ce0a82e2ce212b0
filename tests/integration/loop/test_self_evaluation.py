"""Self-evaluation in the loop: tiny models that were trained to judge, and what follows from their scores."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from rich.console import Console
from support.run_processes import learnt
from support.runs import requested
from support.self_judges import guess_episode, write_judge

from agentevol.cluster.workers.rollout import WorkerUsage
from agentevol.config.run import load
from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling
from agentevol.data.manifests import of_numbers
from agentevol.data.self_evaluation.records import scores_file
from agentevol.learn.learner import GradientLearner
from agentevol.loop.evolve import evolve
from agentevol.loop.report.page import run_document
from agentevol.loop.stages.iteration import Stages
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.feedback.records import Score
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory

pytestmark = pytest.mark.usefixtures("tasks")
SHOWN = [guess_episode(number, 1 + number % 8) for number in range(64)]
"""Episodes that the judges were trained on; those of the runs are of other tasks."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that has learnt that guesses of 5 and more win."""
    place = tmp_path_factory.mktemp("judges") / "sound"
    return write_judge(place, SHOWN, lambda t: 9 if int(t.turns[0].action) >= 5 else 1, shows_end=False).path


@pytest.fixture(scope="module")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model whose digit depends on whether the guess is even, which says nothing about winning."""
    place = tmp_path_factory.mktemp("judges") / "noisy"
    return write_judge(place, SHOWN, lambda t: 9 if int(t.turns[0].action) % 2 else 1, shows_end=False).path


class Killed(Exception):
    """What ends a run in a test."""


class Judging:
    """Processes whose episodes win with guesses of 5 and more, but for every sixteenth; weights that are a
    model can say the next token. Killed before that many judgements have been made.
    """

    def __init__(self, *, judges: int = 100) -> None:
        self.judges, self.asked, self.learns = judges, list[str](), True

    def usage(self) -> list[WorkerUsage]:
        return []

    def update(self, checkpoint: Checkpoint) -> None:
        pass

    def learn(self, job: LearnerJob, *_: object) -> LearnReport:
        if not self.learns:
            raise Killed
        return learnt(job, job.seed)

    def play(
        self, requests: Sequence[EpisodeRequest], _sampling: Sampling, *_: object
    ) -> Iterator[Trajectory]:
        for request in requests:
            drawn = Random(request.seed)
            guess = drawn.randint(1, 8)
            won = (guess >= 5) != (drawn.random() < 1 / 16)
            episode = guess_episode(0, guess, observation="Right." if won else "Wrong.")
            turn = episode.turns[0].model_copy(update={"reward": float(won)})
            yield requested(request, turns=(turn,))

    def next_tokens(self, judge: Checkpoint, prompts: Any, ids: Sequence[int]) -> Any:
        if not self.judges:
            raise Killed
        self.judges -= 1
        self.asked.append(judge.path.name)
        how = LearnConfig(algorithm="sft", learning_rate=1e-3, micro_batch_tokens=4096, batch_tokens=2048)
        return GradientLearner(how.model_copy(update={"threads": 1})).next_tokens(judge, prompts, ids)


def begun(place: Path, base: Path, *overrides: str, iterations: int = 2) -> RunFolder:
    settings = [
        "name=same",
        "environment.name=guess",
        f"iterations={iterations}",
        "explore.tasks=8",
        "explore.samples=8",
        "evaluate.episodes=2",
        "evaluate.validation_episodes=2",
        "algorithm=sft",
        "select.score=self",
        "select.rule=threshold",
        "select.threshold=0.9",
        "select.distinct=false",
        "select.per_task=null",
    ]
    return RunFolder.create(place / "run", load(None, [*settings, *overrides]), Checkpoint(base, 0))


def go_on(folder: RunFolder, processes: Any, told: Console | None = None) -> None:
    progress = Progress(told or Console(quiet=True))
    with Stages(RunContext.of(folder, processes, "", folder.checkpoints.base(), progress)) as run:
        evolve(run)


def explored(folder: RunFolder, iteration: int) -> list[Trajectory]:
    return [t for t in folder.store.trajectories() if (t.purpose, t.iteration) == ("explore", iteration)]


def guesses(episodes: Sequence[Trajectory]) -> list[int]:
    return sorted(int(t.turns[0].action) for t in episodes)


def test_a_sound_judge_is_used_and_its_scores_select_what_is_learnt(tmp_path: Path, sound: Path):
    folder, told = begun(tmp_path, sound), Console(record=True, width=300)
    processes = Judging()
    go_on(folder, processes, told)
    one = folder.summaries.run().iterations[1]
    episodes = explored(folder, 1)
    high = [t for t in episodes if int(t.turns[0].action) >= 5]
    assert one.selected == len(high)
    assert any(not t.succeeded() for t in high)  # learnt by its score, whatever its outcome
    found = one.selection
    assert found["self_scored"] == len(episodes) == 64
    assert found["self_used"] == 1.0
    assert found["self_auc"] > found["self_auc_low"] > 0.8
    assert found["self_brier"] < 0.15
    assert found["self_digit_mass"] > 0.9
    assert processes.asked == ["0000", "0000"]  # the run's own copy of the base
    text = told.export_text()
    assert "self-evaluation by base: AUC 0." in text
    assert "are not used" not in text


def test_scores_are_opinions_beside_the_episodes_and_in_manifest_and_report(tmp_path: Path, sound: Path):
    folder = begun(tmp_path, sound, iterations=1)
    go_on(folder, Judging())
    records = FeedbackTable.beside(folder.path / "trajectories").records()
    assert {record.source for record in records} == {"self:base"}
    scores = json.loads(scores_file(folder.path, 1).read_text())["scores"]
    given = {r.trajectory_id: r.opinion.value for r in records if isinstance(r.opinion, Score)}
    assert given == scores
    assert set(scores) == {t.id for t in explored(folder, 1)}
    noted = read_manifests(folder.path, 1)
    assert noted["judge"].inputs.keys() == {"explore", "model", "verdicts"}
    assert noted["judge"].output == of_numbers(scores)
    assert noted["filter"].inputs["judge"] == noted["judge"].output
    (table,) = [t for t in run_document(folder.summaries.run()).tables if t.title == "Self-evaluation"]
    assert [row[0] for row in table.rows][2:6] == [
        "self mean",
        "self auc",
        "self auc low",
        "self auc high",
    ]


def test_a_judge_whose_digit_is_noise_is_distrusted_and_the_returns_select(tmp_path: Path, noisy: Path):
    folder, told = begun(tmp_path, noisy, iterations=1), Console(record=True, width=400)
    go_on(folder, Judging(), told)
    one = folder.summaries.run().iterations[1]
    assert one.selection["self_used"] == 0.0
    assert one.selection["self_auc_low"] <= 0.5
    assert one.selected == sum(t.succeeded() for t in explored(folder, 1))
    assert read_manifests(folder.path, 1)["judge"].output == of_numbers(None)
    assert "its scores are not used, the returns are: the lower bound of its AUC" in told.export_text()


def test_a_distrusted_judge_stops_the_run_where_that_is_asked_for_and_again_when_it_is_resumed(
    tmp_path: Path, noisy: Path
):
    folder, processes = begun(tmp_path, noisy, "self.distrust=stop", iterations=1), Judging()
    for _ in range(2):
        with pytest.raises(RunStopped, match="by base is distrusted: the lower bound of its AUC"):
            go_on(folder, processes)
    assert len(processes.asked) == 1


def test_a_lower_bound_that_no_judge_reaches_distrusts_a_sound_one(tmp_path: Path, sound: Path):
    folder = begun(tmp_path, sound, "self.min_auc=0.999", iterations=1)
    go_on(folder, Judging())
    assert folder.summaries.run().iterations[1].selection["self_used"] == 0.0


def test_few_episodes_of_one_outcome_prove_nothing_against_a_judge(tmp_path: Path, noisy: Path):
    folder, told = begun(tmp_path, noisy, "explore.tasks=2", iterations=1), Console(record=True, width=300)
    go_on(folder, Judging(), told)
    assert folder.summaries.run().iterations[1].selection["self_used"] == 1.0
    assert "its scores are used unchecked: fewer than 10 episodes were won, or lost" in told.export_text()


def outcome(folder: RunFolder) -> tuple[object, ...]:
    """What a run noted, apart from times."""
    manifests = [file.read_bytes() for file in sorted((folder.path / "manifests").glob("*.json"))]
    iterations = [
        one.model_copy(update={"seconds": {}, "system": {}, "table_version": 0})
        for one in folder.summaries.run().iterations
    ]
    records = FeedbackTable.beside(folder.path / "trajectories").records()
    opinions = sorted((r.id, r.source, r.trajectory_id, r.opinion.model_dump_json()) for r in records)
    return manifests, iterations, opinions


def killed_at(what: str, monkeypatch: pytest.MonkeyPatch, folder: RunFolder) -> None:
    """Run until the kill."""
    processes = Judging(judges=1 if what == "judging" else 100)
    with monkeypatch.context() as patched:
        if what == "opinions":
            append = FeedbackTable.append

            def half(self: FeedbackTable, records: Sequence[Any]) -> None:
                append(self, records[: len(records) // 2])
                raise Killed

            patched.setattr(FeedbackTable, "append", half)
        if what == "learning":
            processes.learns = False
        with pytest.raises(Killed):
            go_on(folder, processes)


@pytest.mark.parametrize("what", ["judging", "opinions", "learning"])
def test_a_run_that_is_killed_in_self_evaluation_ends_like_an_undisturbed_one(
    tmp_path: Path, sound: Path, monkeypatch: pytest.MonkeyPatch, what: str
):
    calm, rough = begun(tmp_path / "calm", sound), begun(tmp_path / "rough", sound)
    go_on(calm, Judging())
    killed_at(what, monkeypatch, rough)
    go_on(rough, Judging())
    assert outcome(rough) == outcome(calm)


def test_earlier_rounds_are_learnt_by_their_scores_even_where_the_cache_is_gone(tmp_path: Path, sound: Path):
    folder = begun(tmp_path, sound, "select.merge=cumulative")
    with pytest.raises(Killed):
        go_on(folder, Judging(judges=1))
    for file in (folder.path / "sequences").glob("0001*"):
        file.unlink()
    processes = Judging()
    go_on(folder, processes)
    assert len(processes.asked) == 1  # the scores of the first round are on disk
    first, second = (
        sum(int(t.turns[0].action) >= 5 for t in explored(folder, iteration)) for iteration in (1, 2)
    )
    assert folder.summaries.run().iterations[2].sequences == first + second


def test_scores_of_another_judge_are_refused(tmp_path: Path, sound: Path):
    folder = begun(tmp_path, sound, iterations=1)
    killed = Judging()
    killed.learns = False
    with pytest.raises(Killed):
        go_on(folder, killed)
    file = scores_file(folder.path, 1)
    file.write_text(file.read_text().replace('"judge": "base"', '"judge": "other"'))
    with pytest.raises(RunStopped, match=r"is of the judge other .* not base"):
        go_on(folder, Judging())


def test_a_judge_that_can_read_no_transcript_stops_the_run(tmp_path: Path, sound: Path):
    folder = begun(tmp_path, sound, iterations=1)
    processes = Judging()
    processes.next_tokens = lambda *_: {}  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(RunStopped, match=r"no episode of iteration 1 has a score of self.judge: \d+ tokens"):
        go_on(folder, processes)
    assert not scores_file(folder.path, 1).exists()
