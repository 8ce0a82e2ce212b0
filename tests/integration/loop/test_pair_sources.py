"""Runs with pairs of demonstrations and earlier lost episodes: what is learnt, lineage and resume."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.run_processes import Killed, Processes, go_on
from support.runs import requested
from support.tiny_models import write_guess_model

from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport
from agentevol.loop.state.manifest_writer import read_manifests
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Trajectory, Turn

pytestmark = pytest.mark.usefixtures("tasks", "expert")
Sides = dict[str, tuple[str, str]]
SETTINGS = (
    "name=now", "environment.name=guess", "algorithm=dpo", "iterations=3", "explore.tasks=8",
    "explore.samples=3", "explore.commit_every=1", "evaluate.episodes=1", "evaluate.validation_episodes=1",
    "demonstrations.tasks=6", "demonstrations.clone=false",
)  # fmt: skip


@pytest.fixture
def expert(monkeypatch: pytest.MonkeyPatch) -> None:
    """An expert that wins each task by the action 8, which nobody else takes."""

    def demonstrate(_: object, _url: str, requests: Sequence[EpisodeRequest]) -> list[Trajectory]:
        turns = (Turn(action="8", observation="o", reward=1.0),)
        told: dict[str, Any] = {"turns": turns, "initial_observation": "", "policy": "expert"}
        return [requested(one, env_version="", data_version="", **told) for one in requests]

    monkeypatch.setattr("agentevol.loop.stages.data_mixture.demonstrate", demonstrate)


class Pairs(Processes):
    """Processes that note the two sides of every pair they learn from, by iteration."""

    def __init__(self, learnt: dict[int, list[tuple[str, str]]], left: int = 10_000) -> None:
        super().__init__(left)
        self.pairs = learnt

    def learn(self, job: LearnerJob, *given: object) -> LearnReport:
        units: dict[str, dict[int, str]] = {}
        for one in job.sequences:
            units.setdefault(one.unit, {})[one.side] = one.trajectory_id
        self.pairs[job.checkpoint.version] = [(both[1], both[-1]) for both in units.values()]
        return super().learn(job, *given)


def begun(place: Path, base: Path, *overrides: str) -> RunFolder:
    config = load(None, [*SETTINGS, *overrides])
    return RunFolder.create(place / "run", config, Checkpoint(base, 0))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_guess_model(tmp_path_factory.mktemp("models") / "tiny", hidden=32)


def kinds(pairs: list[tuple[str, str]]) -> Counter[tuple[str, str]]:
    """How many pairs are of which sources: purpose of the chosen, iteration of the rejected."""
    return Counter((chosen.split("/")[1], rejected.split("/")[2]) for chosen, rejected in pairs)


def test_demonstrations_and_remembered_losses_are_sides_of_pairs(tmp_path: Path, base: Path):
    pairs: dict[int, list[tuple[str, str]]] = {}
    folder = begun(tmp_path, base, "pairs.demonstrations=lost", "pairs.memory=2")
    go_on(folder, Pairs(pairs))
    first, last = kinds(pairs[1]), kinds(pairs[3])
    assert first["demonstrate", "0001"] >= 6  # each of the six tasks is lost at times
    assert {rejected for _, rejected in first} == {"0001"}  # nothing is remembered yet
    assert {chosen for chosen, _ in last} == {"explore", "demonstrate"}
    assert last.total() > 0
    assert sum(count for (_, rejected), count in last.items() if rejected in ("0001", "0002")) > 0
    assert "lost before" not in read_manifests(folder.path, 1)["filter"].inputs
    assert {"demonstrations", "lost before"} <= read_manifests(folder.path, 3)["filter"].inputs.keys()


def test_without_them_the_pairs_are_of_own_episodes_of_the_iteration(tmp_path: Path, base: Path):
    pairs: dict[int, list[tuple[str, str]]] = {}
    go_on(begun(tmp_path, base, "demonstrations.clone=true", "learn.epochs=1"), Cloning(pairs))
    assert set(kinds(pairs[3])) == {("explore", "0003")}


class Cloning(Pairs):
    """Processes that also clone, from sequences without pairs."""

    def learn(self, job: LearnerJob, *given: object) -> LearnReport:
        if job.checkpoint.version == 0:
            return Processes.learn(self, job, *given)
        return super().learn(job, *given)


@pytest.mark.slow
def test_a_killed_run_learns_from_the_same_pairs(tmp_path: Path, base: Path):
    calm, rough = dict[int, list[tuple[str, str]]](), dict[int, list[tuple[str, str]]]()
    settings = ("pairs.demonstrations=any", "pairs.memory=2")
    whole, killed = begun(tmp_path / "calm", base, *settings), begun(tmp_path / "rough", base, *settings)
    go_on(whole, Pairs(calm))
    kills = 0
    while True:
        try:
            go_on(killed, Pairs(rough, left=13))
            break
        except Killed:
            kills += 1
    assert kills > 4
    assert rough == calm
    for iteration in (1, 2, 3):
        ours, theirs = (read_manifests(folder.path, iteration) for folder in (killed, whole))
        assert ours["filter"] == theirs["filter"]
