"""Populations of runs without processes: choices, copies, merging, judgement and resume."""

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from rich.console import Console
from support.run_processes import Killed, Processes, go_on
from support.tiny_models import write_guess_model

from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport
from agentevol.core.summaries import RunSummary
from agentevol.loop.population.records import PopulationRecord, read_record
from agentevol.loop.state.context import RunContext
from agentevol.loop.state.progress import Progress
from agentevol.loop.state.run_folder import RunFolder
from agentevol.runs.population import evolve_population
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("tasks")
SETTINGS = (
    "name=p", "environment.name=guess", "algorithm=grpo", "explore.tasks=2", "explore.samples=2",
    "explore.commit_every=1", "evaluate.episodes=2", "evaluate.validation_episodes=8", "metrics=[]",
)  # fmt: skip


class Members(Processes):
    """Processes of members and of the judgement, which may also be killed around a training or a mean."""

    def learn(self, job: LearnerJob, *given: object) -> LearnReport:
        self._spend()
        found = super().learn(job, *given)
        (job.out / "moments.st").write_text(f"{job.start.path.parts[-3:]}")
        shutil.copy(job.start.path / "config.json", job.out)
        self._spend()
        return found

    def average(self, members: Sequence[Checkpoint], out: Checkpoint) -> None:
        self._spend()
        out.path.mkdir(parents=True)
        told = [(one.path / "model.safetensors").read_bytes() for one in members]
        (out.path / "model.safetensors").write_bytes(b"+".join(sorted(told)))
        self._spend()

    def _spend(self) -> None:
        if not self.left:
            raise Killed
        self.left -= 1


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_guess_model(tmp_path_factory.mktemp("models") / "tiny", hidden=32)


def begun(place: Path, base: Path, *overrides: str) -> Path:
    config = load(None, [*SETTINGS, f"base={base}", *overrides])
    RunFolder.create(place, config, Checkpoint(base, 0)).close()
    return place


def finish(place: Path, processes: Processes) -> RunSummary:
    """Run, or finish, a population with these processes."""

    def launch(run: RunFolder, _: Progress) -> RunSummary:
        go_on(run, processes)
        return run.summaries.run()

    @contextmanager
    def running(run: RunFolder, progress: Progress) -> Iterator[RunContext]:
        processes.version = 0
        yield RunContext.of(run, cast(Any, processes), "", run.checkpoints.base(), progress)

    with RunFolder.resume(place) as folder:
        return evolve_population(folder, Progress(Console(quiet=True)), launch, running)


def record_of(place: Path) -> PopulationRecord:
    found = read_record(place)
    assert found is not None
    return found


def weights(place: Path, member: str, version: int) -> bytes:
    return (place / "members" / member / "checkpoints" / f"{version:04d}" / "model.safetensors").read_bytes()


def facts(place: Path) -> dict[str, object]:
    """What a population decided, trained, noted and played, apart from times."""
    found: dict[str, object] = {"record": record_of(place)}
    for file in sorted(place.rglob("model.safetensors")):
        found[str(file.relative_to(place))] = file.read_bytes()
    for file in sorted(place.rglob("manifests/*.json")):
        found[str(file.relative_to(place))] = json.loads(file.read_text())
    for run in [place, *sorted((place / "members").iterdir())]:
        with RunFolder.resume(run) as folder:
            found[f"episodes of {run.name}"] = sorted(one.id for one in folder.store.trajectories())
    found.pop(f"episodes of {place.name}")
    return found


@pytest.mark.slow
def test_the_better_half_goes_on_and_the_winner_is_judged_on_other_tasks(tmp_path: Path, base: Path):
    place = begun(tmp_path / "p", base, "population.size=4", "iterations=2")
    summary = finish(place, Members())
    record = record_of(place)
    first, second = record.spans
    assert [(one.until, len(one.members)) for one in record.spans] == [(1, 4), (3, 2)]
    assert {one.run for one in second.members} == {one.run for one in first.members[:2]}
    assert [one.goes_on for one in first.members] == [True, True, False, False]
    assert [one.standing.mean for one in first.members] == sorted(
        (one.standing.mean for one in first.members), reverse=True
    )
    for one in first.members:
        with RunFolder.resume(place / "members" / one.run) as run:
            assert run.summaries.finished() == ([0, 1, 2, 3] if one.goes_on else [0, 1])
    winner = second.members[0].run
    assert record.merged == (winner,)
    result = place / "checkpoints" / "0001"
    assert (result / "model.safetensors").read_bytes() == weights(place, winner, 3)
    assert (result / "moments.st").is_file()  # they follow the winner
    assert [one.iteration for one in summary.iterations] == [0, 1]
    assert json.loads((place / "best.json").read_text())["iteration"] in (0, 1)
    assert "Members of the population" in (place / "report.html").read_text()


def test_fresh_validation_tasks_judge_start_and_result_with_equal_seeds(tmp_path: Path, base: Path):
    place = begun(tmp_path / "p", base, "population.size=2", "iterations=1")
    finish(place, Members())
    with RunFolder.resume(place) as folder:
        judged = list(folder.store.trajectories(Where(purpose="evaluate")))
    with RunFolder.resume(place / "members" / "00") as member:
        chose = {
            t.task_id for t in member.store.trajectories(Where(purpose="evaluate")) if t.split == "valid"
        }
    fresh = {t.task_id for t in judged if t.split == "valid"}
    assert len(fresh) == len(chose) == 8
    assert fresh.isdisjoint(chose)
    start, result = ({(t.task_id, t.seed) for t in judged if t.iteration == number} for number in (0, 1))
    assert start == result


@pytest.mark.slow
def test_the_worst_quarter_copies_the_best_and_has_a_run_of_its_own(tmp_path: Path, base: Path):
    settings = ("population.size=4", "population.rule=pbt", "iterations=3")
    place = begun(tmp_path / "p", base, *settings)
    finish(place, Members())
    first, second, last = record_of(place).spans
    assert [one.until for one in (first, second, last)] == [1, 2, 3]
    best, worst = first.members[0], first.members[-1]
    assert best.standing.mean > worst.standing.mean
    assert (worst.copies, worst.goes_on) == (best.run, False)
    copy = next(one for one in second.members if one.run == f"{worst.run}-1")
    assert copy.learning_rate / best.learning_rate in (pytest.approx(0.8), pytest.approx(1.2))
    assert weights(place, copy.run, 0) == weights(place, best.run, 1)
    assert (place / "members" / copy.run / "checkpoints" / "0000" / "moments.st").is_file()
    assert {one.run[:2] for one in last.members} == {"00", "01", "02", "03"}


@pytest.mark.slow
@pytest.mark.parametrize("merge", ["uniform", "greedy"])
def test_members_that_played_to_the_end_are_merged_with_new_moments(tmp_path: Path, base: Path, merge: str):
    settings = ("population.size=3", "population.rule=pbt", "iterations=2", f"population.merge={merge}")
    place = begun(tmp_path / "p", base, *settings)
    finish(place, Members())
    record = record_of(place)
    order = [one.run for one in record.spans[-1].members]
    assert set(record.merged) <= set(order)
    assert record.merged[0] == order[0]
    assert len(record.trials) == (0 if merge == "uniform" else 3)
    if merge == "uniform":
        assert list(record.merged) == order
    if len(record.merged) > 1:
        made = (place / "checkpoints" / "0001" / "model.safetensors").read_bytes()
        last = [
            max((place / "members" / run / "checkpoints").glob("[0-9]*")) / "model.safetensors"
            for run in record.merged
        ]
        assert made == b"+".join(sorted(file.read_bytes() for file in last))
        assert not (place / "checkpoints" / "0001" / "moments.st").exists()
    assert not (place / "soups").exists()


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["halving", "pbt"])
def test_a_population_killed_at_any_moment_ends_equal(tmp_path: Path, base: Path, rule: str):
    settings = ("population.size=4", f"population.rule={rule}", "iterations=2", "population.merge=greedy")
    calm, rough = begun(tmp_path / "calm", base, *settings), begun(tmp_path / "rough", base, *settings)
    finish(calm, Members())
    kills = 0
    while True:
        try:
            finish(rough, Members(left=17))
            break
        except Killed:
            kills += 1
    assert kills > 8
    assert facts(rough) == facts(calm)
    before = facts(rough)
    again = Members(left=0)  # nothing is left to do
    finish(rough, again)
    assert facts(rough) == before
