"""Runs whose episodes have two seats: counts, groups, batches and a resume, without processes."""

from collections import Counter
from pathlib import Path

import pytest
from support.run_processes import Killed, Processes, go_on

from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint
from agentevol.data.groups import group_of
from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.records import Trajectory
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("tasks")


def begun(place: Path, *overrides: str) -> RunFolder:
    (place / "base").mkdir(parents=True)
    (place / "base" / "model.safetensors").write_text("base")
    few = ["explore.tasks=3", "explore.samples=4", "evaluate.episodes=2", "evaluate.validation_episodes=2"]
    settings = ["name=now", "environment.name=guess", "environment.seats=2", "algorithm=grpo", "iterations=1"]
    config = load(None, [*settings, *few, "explore.commit_every=1", *overrides])
    return RunFolder.create(place / "run", config, Checkpoint(place / "base", 0))


def stored(folder: RunFolder, purpose: str) -> list[Trajectory]:
    return sorted(folder.store.trajectories(Where(purpose=purpose, iteration=1)), key=lambda one: one.id)


def test_episodes_and_trajectories_are_counted_and_groups_are_of_one_seat(tmp_path: Path):
    folder, processes = begun(tmp_path), Processes()
    go_on(folder, processes)
    _, one = folder.summaries.run().iterations
    explored = stored(folder, "explore")
    assert (one.requested, one.seats, one.explored) == (12, 2, {"terminated": 24})
    assert Counter(Counter(map(group_of, explored)).values()) == {4: 6}  # three tasks, two seats
    assert one.evaluation is not None
    assert (one.evaluation.n, one.evaluation.by["seat"]["seat 1"]) == (4, (0, 2))
    assert {t.seat for t in explored if t.id in processes.learnt} == {0, 1}


def test_what_a_partner_played_is_stored_and_neither_learnt_nor_counted(tmp_path: Path):
    folder, processes = begun(tmp_path, "environment.partner=random"), Processes()
    go_on(folder, processes)
    _, one = folder.summaries.run().iterations
    explored, partners = stored(folder, "explore"), [*folder.store.trajectories(Where(purpose="partner"))]
    assert (one.requested, one.seats, one.explored) == (12, 1, {"terminated": 12})
    assert len({t.episode for t in explored} & {t.episode for t in partners}) == 12
    assert processes.learnt == {t.id for t in explored}
    assert len({(t.task_id, t.seat) for t in explored}) == 3  # all samples of a task in one seat
    assert one.evaluation is not None
    assert one.evaluation.n == 2


def test_a_run_killed_between_two_seats_plays_that_episode_again(tmp_path: Path):
    calm, rough = begun(tmp_path / "calm"), begun(tmp_path / "rough")
    go_on(calm, Processes())
    kills, again = 0, Counter[str]()
    while True:
        processes = Processes(left=7)
        try:
            go_on(rough, processes)
            break
        except Killed:
            kills += 1
            again.update(processes.played)
            halves = Counter(t.episode for t in rough.store.trajectories())
            assert set(halves.values()) == {2}
    assert kills > 3
    assert max(again.values()) == 2
    assert [t.id for t in stored(rough, "explore")] == [t.id for t in stored(calm, "explore")]
    ours, theirs = (folder.summaries.run().iterations[1] for folder in (rough, calm))
    assert (ours.explored, ours.evaluation) == (theirs.explored, theirs.evaluation)
    assert ours.selected == theirs.selected == 24
