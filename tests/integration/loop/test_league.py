"""Runs whose explored episodes are played in a league, without processes."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from support.run_processes import Killed, Processes, go_on

from agentevol.config.run import load
from agentevol.core.protocols import Checkpoint, LearnerJob, LearnReport, Sampling
from agentevol.loop.league.league import partner_of
from agentevol.loop.report.page import run_document
from agentevol.loop.state.run_folder import RunFolder
from agentevol.rollout.episode import EpisodeRequest
from agentgym_store.records import Trajectory
from agentgym_store.store import Where

pytestmark = pytest.mark.usefixtures("tasks")
ITERATIONS = 3


class Players(Processes):
    """Stands in for processes whose partners say who they are."""

    def __init__(self, left: int = 10_000) -> None:
        super().__init__(left)
        self.requests: dict[str, EpisodeRequest] = {}
        self.baselines: dict[str, float | None] = {}

    def learn(self, job: LearnerJob, *more: object) -> LearnReport:
        self.baselines |= {one.trajectory_id: one.episode and one.episode.baseline for one in job.sequences}
        return super().learn(job, *more)

    def play(
        self, requests: Sequence[EpisodeRequest], sampling: Sampling, *more: object
    ) -> Iterator[Trajectory]:
        self.requests |= {one.id: one for one in requests}
        for seat in super().play(requests, sampling, *more):
            name = partner_of(self.requests[seat.episode]) if seat.purpose == "partner" else "p"
            yield seat.model_copy(update={"policy": name})


def begun(place: Path, *overrides: str) -> RunFolder:
    (place / "base").mkdir(parents=True)
    (place / "base" / "model.safetensors").write_text("base")
    few = ["explore.tasks=6", "explore.samples=2", "evaluate.episodes=1", "evaluate.validation_episodes=1"]
    league = ["environment.seats=2", "selfplay.partner=league", "selfplay.kept=2"]
    settings = ["name=now", "environment.name=guess", "algorithm=grpo", f"iterations={ITERATIONS}"]
    config = load(None, [*settings, *few, *league, "explore.commit_every=6", *overrides])
    return RunFolder.create(place / "run", config, Checkpoint(place / "base", 0))


def stored(folder: RunFolder, purpose: str, iteration: int) -> list[Trajectory]:
    found = folder.store.trajectories(Where(purpose=purpose, iteration=iteration))
    return sorted(found, key=lambda one: one.id)


def noted(folder: RunFolder, iteration: int) -> dict[str, Any]:
    return json.loads((folder.path / "manifests" / f"{iteration:04d}.json").read_text())["league"]


def test_partners_are_earlier_checkpoints_and_only_the_policys_seats_are_learnt(tmp_path: Path):
    folder, players = begun(tmp_path, "selfplay.latest=0.3", "selfplay.kept=1"), Players()
    go_on(folder, players)
    met = Counter[tuple[int, str]]()
    for iteration in range(1, ITERATIONS + 1):
        explored = stored(folder, "explore", iteration)
        own = Counter(one.episode for one in explored)
        for episode, seats in own.items():
            request = players.requests[episode]
            met[iteration, partner_of(request)] += 1
            assert seats == (2 if request.partner is None else 1)
        assert {one.id for one in explored} <= players.learnt
        assert not {one.id for one in stored(folder, "partner", iteration)} & players.learnt
    assert {key for key in met if key[0] == 1} == {(1, "latest")}
    assert {name for iteration, name in met if iteration == 2} == {"latest", "0000"}
    assert {name for iteration, name in met if iteration == 3} == {"latest", "0001"}  # one is kept
    assert all(one.partner is None for one in players.requests.values() if one.purpose != "explore")
    for summary in folder.summaries.run().iterations[1:]:
        assert summary.requested == 12
        assert sum(summary.explored.values()) == 12 * summary.seats + summary.further_seats
        assert sum(entry.episodes for entry in summary.league) == 12
    tables = {table.title: table.rows for table in run_document(folder.summaries.run()).tables}
    partners = [[*row[:2], row[5]] for row in tables["League"] if row[0] == "1"]
    assert partners == [["1", "latest", "12"]]
    assert not any("unaccounted" in cell for row in tables["How episodes ended"] for cell in row)


def test_all_samples_of_a_task_have_one_partner_and_seat_and_seats_alternate(tmp_path: Path):
    folder, players = begun(tmp_path, "selfplay.latest=0"), Players()
    go_on(folder, players)
    second = [one for one in players.requests.values() if (one.purpose, one.iteration) == ("explore", 2)]
    by_task = {one.task_id: {(partner_of(two), two.policy_seat) for two in second
                             if two.task_id == one.task_id} for one in second}  # fmt: skip
    assert {len(found) for found in by_task.values()} == {1}
    assert Counter(seat for found in by_task.values() for _, seat in found) == {0: 3, 1: 3}


def test_win_rates_follow_the_episodes_of_earlier_iterations(tmp_path: Path):
    folder, players = begun(tmp_path, "selfplay.latest=0"), Players()
    go_on(folder, players)
    second = {one.episode: one.total_reward for one in stored(folder, "explore", 2)}
    theirs = {one.episode: one.total_reward for one in stored(folder, "partner", 2) if one.episode in second}
    wins = sum(0.5 if mine == theirs[one] else float(mine > theirs[one]) for one, mine in second.items())
    assert 0 < wins < len(second) == 12
    counts = noted(folder, 3)["counts"]
    w = (wins + 1) / (12 + 2)
    assert counts["0000 win rate"] == pytest.approx(w)
    assert counts["0001 win rate"] == 0.5
    assert counts["0000 probability"] == pytest.approx((1 - w) ** 2 / ((1 - w) ** 2 + 0.25))
    assert counts["0000 tasks"] + counts["0001 tasks"] == 6
    assert set(noted(folder, 3)["inputs"]) == {name for name in ("0000", "0001") if counts[f"{name} tasks"]}


@pytest.mark.parametrize("mode", ["synchronous", "one_step_off"])
def test_a_run_that_is_killed_and_resumed_has_equal_partners(tmp_path: Path, mode: str):
    settings = (f"rollout.mode={mode}", "selfplay.scripted.random=0.25")
    calm, rough = begun(tmp_path / "calm", *settings), begun(tmp_path / "rough", *settings)
    go_on(calm, Players())
    kills = 0
    while True:
        try:
            go_on(rough, Players(left=19))
            break
        except Killed:
            kills += 1
    assert kills > 2
    for iteration in range(1, ITERATIONS + 1):
        ours, theirs = (folder.summaries.of(iteration) for folder in (rough, calm))
        assert ours is not None
        assert theirs is not None
        assert ours.league == theirs.league
        assert (ours.seats, ours.further_seats) == (theirs.seats, theirs.further_seats)
        assert noted(rough, iteration) == noted(calm, iteration)
        mine, other = (
            [(one.id, one.policy, one.seat) for one in stored(folder, "partner", iteration)]
            for folder in (rough, calm)
        )
        assert mine == other
    other_seed = begun(tmp_path / "other", *settings, "seed=1")
    go_on(other_seed, Players())
    assert noted(other_seed, ITERATIONS)["output"] != noted(calm, ITERATIONS)["output"]


def test_baselines_by_seat_go_on_from_the_rounds_before_also_after_a_kill(tmp_path: Path):
    settings = ("algorithm=dr_grpo", "learn.options.baseline=seat", "iterations=2", "explore.tasks=4")
    calm, rough = begun(tmp_path / "calm", *settings), begun(tmp_path / "rough", *settings)
    whole, parts = Players(), Players()
    go_on(calm, whole)
    while True:
        try:
            parts.left = 13
            go_on(rough, parts)
            break
        except Killed:
            pass
    assert parts.baselines == pytest.approx(whole.baselines, nan_ok=True)
    first = [one for one in stored(calm, "explore", 1) if one.seat == 0]
    first.sort(key=lambda one: hashlib.sha256(one.id.encode()).digest())
    factors = [0.95**age for age in range(len(first))][::-1]
    mean = sum(factor * (one.total_reward or 0.0) for factor, one in zip(factors, first, strict=True))
    mean /= sum(factors)
    for folder in (calm, rough):
        summary = folder.summaries.of(2)
        assert summary is not None
        assert summary.selection["baseline_guess_seat_0"] == pytest.approx(mean)
        assert summary.selection["baseline_guess_seat_1"] == 0.0  # it never wins
    second = sorted(
        (one for one in stored(calm, "explore", 2) if one.seat == 0),
        key=lambda one: hashlib.sha256(one.id.encode()).digest(),
    )
    assert 0 < mean < 1
    assert whole.baselines[second[0].id] == pytest.approx(mean)
    assert isnan(whole.baselines[first[0].id] or 0.0)


def test_rounds_ahead_are_drawn_from_what_was_known_before_them(tmp_path: Path):
    folder, players = begun(tmp_path, "rollout.mode=one_step_off", "selfplay.latest=0"), Players()
    go_on(folder, players)
    met = {(one.iteration, partner_of(one)) for one in players.requests.values() if one.purpose == "explore"}
    assert {name for iteration, name in met if iteration <= 2} == {"latest"}
    assert {name for iteration, name in met if iteration == 3} == {"0000"}  # round 3 begins with weights 1
    assert noted(folder, 3)["policy_version"] == 1


def test_evaluations_have_the_partner_of_the_environment(tmp_path: Path):
    folder, players = begun(tmp_path, "environment.partner=random", "iterations=2"), Players()
    go_on(folder, players)
    evaluated = [one for one in players.requests.values() if one.purpose == "evaluate"]
    assert {(one.partner, one.policy_seat is None) for one in evaluated} == {(None, False)}
    explored = [one for one in players.requests.values() if one.purpose == "explore" and one.iteration == 1]
    assert {(one.partner, one.policy_seat) for one in explored} == {(None, None)}


def test_a_league_changes_nothing_where_it_is_off(tmp_path: Path):
    folder, players = (
        begun(tmp_path, "selfplay.partner=environment", "selfplay.kept=8", "iterations=1"),
        Players(),
    )
    go_on(folder, players)
    last = folder.summaries.of(1)
    assert last is not None
    assert (last.league, last.seats, last.further_seats) == ((), 2, 0)
    assert "league" not in json.loads((folder.path / "manifests" / "0001.json").read_text())
    titles = [table.title for table in run_document(folder.summaries.run()).tables if table.rows]
    assert "League" not in titles
