"""The main job on real processes: a Ray of its own, an environment server, rollout workers and a learner."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import load_file, save_file
from support.processes import MARK, processes

from agentevol.loop.state.run_folder import RunFolder
from agentgym_store.store import Store, Where

pytestmark = pytest.mark.usefixtures("clean_environment")
Command = Callable[..., list[str]]
SAME = ("name=same", "learn.epochs=10", "learn.save_every=2")
"""Runs with these end like `calm`, whatever happens to them. They save so often that a kill finds
some of their learning saved.
"""
ONE_WORKER = "engine.workers=1"
"""Starts sooner than the two of the undisturbed run; who plays an episode changes nothing in it."""


def finish(
    arguments: list[str], timeout_s: float = 600, **environment: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **environment}
    return subprocess.run(arguments, capture_output=True, text=True, timeout=timeout_s, env=environment)


@contextmanager
def going(arguments: list[str], mark: str) -> Generator[subprocess.Popen[str]]:
    """A process whose own processes bear a mark; it is gone afterwards."""
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, MARK: mark},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def resume(out: Path) -> list[str]:
    return [sys.executable, "-m", "agentevol", "run", "--resume", str(out)]


def rows(out: Path) -> list[tuple[object, ...]]:
    """What every episode was, apart from times."""
    return sorted(
        (
            t.id,
            t.ending.kind,
            t.total_reward,
            tuple((turn.action, turn.reward, turn.sample and turn.sample.token_ids) for turn in t.turns),
        )
        for t in Store.open(out / "trajectories", create=False).trajectories()
    )


def figures(out: Path) -> list[tuple[object, ...]]:
    """What was selected, learnt and reached in every iteration."""
    found = [json.loads(file.read_text()) for file in sorted((out / "iterations").glob("*.json"))]
    return [
        (
            one["iteration"],
            one["selected"],
            one["sequences"],
            one["trained_tokens"],
            one["evaluation"]["successes"],
        )
        for one in found
    ]


def recorded(out: Path) -> tuple[list[int], list[tuple[int, float]]]:
    """Iterations in the file of metrics, and steps and values of success in TensorBoard; a point that was
    recorded twice counts once.
    """
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    lines = (out / "metrics.jsonl").read_text().splitlines()
    events = EventAccumulator(str(out / "tensorboard")).Reload()
    points = {(one.step, one.value) for one in events.Scalars("success/test")}
    return [json.loads(line)["iteration"] for line in lines], sorted(points)


def weights(out: Path, version: int) -> bytes:
    return _weights(out, version).read_bytes()


def _weights(out: Path, version: int) -> Path:
    return out / "checkpoints" / f"{version:04d}" / "model.safetensors"


def test_a_run_goes_from_exploration_to_a_report_and_its_numbers_add_up(tmp_path: Path, calm: Path):
    out = tmp_path / "run"
    shutil.copytree(calm, out)
    explored = Counter(
        t.ending.kind for t in Store.open(out / "trajectories").trajectories(Where(purpose="explore"))
    )
    assert explored["terminated"] + explored["truncated"] == explored.total() == 2 * 4 * 40
    for one in RunFolder.resume(out).summaries.run().iterations[1:]:
        assert sum(one.explored.values()) == one.requested == 160
        assert 0 < one.selected <= 80
        assert one.learn["logp_gap"] < 1e-4  # float32 on both sides
    assert (out / "report.html").stat().st_size > 10_000
    assert (out / "success.png").read_bytes().startswith(b"\x89PNG")
    lineage = json.loads((out / "checkpoints" / "0002" / "agentevol.json").read_text())
    assert lineage["table_version"] <= Store.open(out / "trajectories").version()
    assert json.loads((out / "best.json").read_text())["iteration"] in (0, 1, 2)

    before = rows(out)
    again = finish(resume(out))
    assert again.returncode == 0, again.stderr
    assert rows(out) == before


def test_nothing_that_is_evaluated_is_learnt_from(calm: Path):
    found = list(Store.open(calm / "trajectories").trajectories())
    learnt = {t.task_id for t in found if t.purpose == "explore"}
    tested = {t.task_id for t in found if t.purpose == "evaluate"}
    assert learnt
    assert tested
    assert not learnt & tested


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["run", "lern.epochs=2"], "unknown key 'lern'"),
        (["run", "--dry-run", "base=nowhere"], "no model 'nowhere'"),
        (["run", "base=nowhere", "--out", "{tmp}/run"], "no model 'nowhere'"),
        (["run", "--resume", "{tmp}/missing"], "is not a run"),
        (["run", "{tmp}/missing.toml"], "cannot read the configuration"),
        (["eval", "--split", "night", "--model", "random", "--episodes", "1"], "night"),
        (["eval", "--model", "{tmp}"], "neither a model folder"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path: Path, arguments: list[str], line: str):
    given = [argument.format(tmp=tmp_path) for argument in arguments]
    done = finish([sys.executable, "-m", "agentevol", *given])
    assert done.returncode == 2
    assert line in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_folder_with_something_in_it_is_not_overwritten(tmp_path: Path, command: Command):
    (tmp_path / "notes.txt").write_text("mine")
    done = finish(command(tmp_path))
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]


@pytest.mark.slow
def test_what_a_worker_cannot_load_is_told_in_one_line(tmp_path: Path, command: Command, tiny_model: Path):
    lacking = tmp_path / "lacking"
    shutil.copytree(tiny_model, lacking)
    tensors = load_file(lacking / "model.safetensors")
    tensors.pop("lm_head.weight")
    save_file(tensors, lacking / "model.safetensors", metadata={"format": "pt"})
    done = finish(command(tmp_path / "run", f"base={lacking}"))
    assert done.returncode == 2
    assert "1 tensors are missing, left over or of another shape, for example lm_head.weight" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1


class Moment(NamedTuple):
    """When to kill: as soon as the run's folder holds so much."""

    file: str = "config.toml"
    episodes: int = 0
    """In the table."""
    within_s: float = 0.0
    """Up to so much later, by chance."""

    def has_come(self, out: Path) -> bool:
        return (out / self.file).exists() and _episodes(out) >= self.episodes


EVALUATED, EXPLORED = 4, 160
"""Episodes of an evaluation (two held-out tasks, then two to choose by) and of an exploration."""
LEARNT = EVALUATED + EXPLORED
MOMENTS = {
    "starting": Moment(within_s=3.0),
    "evaluating the base": Moment(episodes=EVALUATED // 2),
    "exploring": Moment(episodes=EVALUATED + 40),
    "learning, some of which is saved": Moment("checkpoints/.0001.state", within_s=0.1),
    "before its evaluation": Moment("checkpoints/0001"),
    "within its evaluation": Moment(episodes=LEARNT + EVALUATED // 2),
    "exploring with it": Moment(episodes=LEARNT + EVALUATED + 80),
    "learning from all so far": Moment(episodes=LEARNT + EVALUATED + EXPLORED, within_s=0.3),
    "reporting": Moment("iterations/0002.json", within_s=0.1),
}


def _episodes(out: Path) -> int:
    """How many are in the table, by its log."""
    log = (out / "trajectories" / "_delta_log").glob("*.json")
    return sum(int(n) for file in log for n in re.findall(r'"numRecords\\?": ?(\d+)', file.read_text()))


@pytest.mark.slow
def test_a_run_killed_in_each_of_its_stages_ends_like_an_undisturbed_one(
    tmp_path: Path, calm: Path, command: Command
):
    out, draw = tmp_path / "rough", random.Random(0)
    begin = command(out, *SAME, ONE_WORKER)
    for stage, moment in MOMENTS.items():
        with going(resume(out) if (out / "config.toml").is_file() else begin, stage) as process:
            _await(moment.has_come, out, process)
            time.sleep(moment.within_s * draw.random())
            assert process.poll() is None, f"too late for {stage}"
            process.kill()
    done = finish(resume(out))
    assert done.returncode == 0, done.stderr
    assert rows(out) == rows(calm)
    assert figures(out) == figures(calm)
    assert weights(out, 2) == weights(calm, 2)
    assert recorded(out) == recorded(calm)
    assert recorded(out)[0] == [0, 1, 2]


def _await(has_come: Callable[[Path], bool], out: Path, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 600
    while not has_come(out):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.mark.slow
def test_a_process_killed_in_the_middle_costs_only_its_work(tmp_path: Path, calm: Path, command: Command):
    rough, mark = tmp_path / "rough", f"{os.getpid()}-killed"
    begun = LEARNT + EVALUATED
    with going(command(rough, *SAME), mark) as process:
        for victim, moment in (
            ("envs serve", Moment(episodes=EVALUATED + 16)),
            ("RolloutWorker", Moment(episodes=EVALUATED + 80)),
            ("LearnerWorker", Moment("checkpoints/.0001.state")),
            ("RolloutWorker", Moment(episodes=begun + 16)),
            ("envs serve", Moment(episodes=begun + 80)),
            ("LearnerWorker", Moment(episodes=begun + EXPLORED)),
        ):
            _await(moment.has_come, rough, process)
            os.kill(processes(victim, mark=mark)[0], signal.SIGKILL)
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert rows(rough) == rows(calm)
    assert figures(rough) == figures(calm)
    assert weights(rough, 2) == weights(calm, 2)


@pytest.mark.slow
def test_a_round_explored_while_another_is_learnt_ends_alike_however_often_it_is_killed(
    tmp_path: Path, command: Command
):
    settings = (*SAME, ONE_WORKER, "rollout.mode=one_step_off")
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    done = finish(command(calm, *settings))
    assert done.returncode == 0, done.stderr
    assert _versions(calm, 1) == _versions(calm, 2) == {0}  # the second was sampled before the first update
    for stage, moment in {
        "both at once, some of what is learnt saved": Moment("checkpoints/.0001.state"),
        "the other explored for a while": Moment(episodes=LEARNT + 40),  # learnt by then, or not
        "before its evaluation": Moment("checkpoints/0001"),
    }.items():
        with going(
            resume(rough) if (rough / "config.toml").is_file() else command(rough, *settings), stage
        ) as process:
            _await(moment.has_come, rough, process)
            process.kill()
    done = finish(resume(rough))
    assert done.returncode == 0, done.stderr
    assert rows(rough) == rows(calm)
    assert figures(rough) == figures(calm)
    assert weights(rough, 2) == weights(calm, 2)


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["continue", "abort"])
def test_new_weights_reach_episodes_under_way_and_the_sums_are_right_after_a_kill(
    tmp_path: Path, command: Command, rule: str
):
    out = tmp_path / "run"
    settings = ("rollout.mode=asynchronous", f"rollout.in_flight={rule}", "engine.slots=1", ONE_WORKER)
    with going(command(out, "name=same", *settings), "asynchronous") as process:
        _await(Moment(episodes=LEARNT + EVALUATED + 20).has_come, out, process)
        process.kill()
    done = finish(resume(out))
    assert done.returncode == 0, done.stderr
    summaries = RunFolder.resume(out).summaries.run().iterations
    for one in summaries[1:]:
        assert sum(one.explored.values()) == one.requested == EXPLORED
        assert one.selection["policy_version_lag_max"] <= 2
    assert len({row[0] for row in rows(out)}) == len(rows(out)) == 3 * EVALUATED + 2 * EXPLORED
    assert _versions(out, 2) == {0, 1}  # some of the second round before the update, some after
    evaluated = Store.open(out / "trajectories").trajectories(Where(purpose="evaluate"))
    assert {
        (t.iteration, turn.sample.policy_version) for t in evaluated for turn in t.turns if turn.sample
    } == {(number, number) for number in range(3)}


def _versions(out: Path, iteration: int) -> set[int | None]:
    """Of the weights that sampled a round."""
    explored = Store.open(out / "trajectories").trajectories(Where(purpose="explore", iteration=iteration))
    return {turn.sample.policy_version for t in explored for turn in t.turns if turn.sample}


@pytest.mark.slow
def test_learners_that_share_the_weights_learn_what_one_learns_even_where_one_is_killed(
    tmp_path: Path, calm: Path, command: Command
):
    shared = (*SAME, "learn.shards=2", ONE_WORKER)
    together, rough = tmp_path / "together", tmp_path / "rough"
    done = finish(command(together, *shared))
    assert done.returncode == 0, done.stderr
    base, one, two = (
        load_file(file) for file in (_weights(calm, 0), _weights(calm, 1), _weights(together, 1))
    )
    assert max((one[name] - base[name]).abs().max().item() for name in base) > 1e-2
    for name in one:  # rounding, after many steps of 3e-3
        torch.testing.assert_close(two[name], one[name], atol=1e-3, rtol=0.0)

    mark = f"{os.getpid()}-shards"
    with going(command(rough, *shared), mark) as process:
        _await(Moment("checkpoints/.0001.state.1-of-2").has_come, rough, process)
        learners = processes("LearnerWorker", mark=mark)
        assert len(learners) == 2
        os.kill(learners[1], signal.SIGKILL)
        assert not _weights(rough, 1).exists()
        _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert rows(rough) == rows(together)
    assert figures(rough) == figures(together)
    assert weights(rough, 2) == weights(together, 2)  # bit for bit
    assert sorted(file.name for file in (rough / "checkpoints").iterdir()) == ["0000", "0001", "0002"]


@pytest.mark.slow
def test_a_full_disk_stops_a_run_with_one_line_and_it_can_be_finished_later(
    calm: Path, command: Command, disk: Callable[[int], Path]
):
    used = sum(file.stat().st_size for file in calm.rglob("*") if file.is_file()) // 1024

    stops = 0
    for share in (0.1, 0.4, 0.7):  # the base, episodes, a checkpoint do not fit
        out = disk(int(share * used)) / "run"
        begin = command(out, *SAME, ONE_WORKER)
        stopped = finish(resume(out) if (out / "config.toml").is_file() else begin)
        if stopped.returncode == 0:
            break
        stops += 1
        assert stopped.returncode == 1, stopped.stderr
        assert len(stopped.stderr.strip().splitlines()) == 1, stopped.stderr
        assert "disk is full" in stopped.stderr or "No space left" in stopped.stderr
    assert stops > 0

    out = disk(64 * 1024) / "run"
    done = finish(resume(out))
    assert done.returncode == 0, done.stderr
    assert rows(out) == rows(calm)
    assert figures(out) == figures(calm)
    assert weights(out, 2) == weights(calm, 2)


@pytest.mark.slow
def test_the_starter_wins_some_rooms_and_leaves_others_to_be_learnt():
    def eval_small(model: str) -> dict[str, Any]:
        arguments = ["eval", "--model", model, "--difficulty", "small", "--episodes", "40", "--json"]
        done = finish([sys.executable, "-m", "agentevol", *arguments])
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    starter, random_player = eval_small("starter"), eval_small("random")
    assert starter["n"] == random_player["n"] == 40
    assert random_player["successes"] <= 2 < starter["successes"] < 30


CREDITED = ("algorithm=reinforce_pp", "name=same", ONE_WORKER)
"""An algorithm that credits turns."""


@pytest.fixture(scope="module")
def processed(tmp_path_factory: pytest.TempPathFactory, command: Command) -> Path:
    """A run with rewards of single turns. It is shared: look, and copy it before going on with it."""
    folder = tmp_path_factory.mktemp("processed")
    arguments = command(folder / "run", *CREDITED, "process.continuations=4")
    done = finish(arguments, AGENTEVOL_HOME=str(folder / "home"))
    assert done.returncode == 0, done.stderr
    return folder / "run"


@pytest.mark.slow
def test_process_rewards_come_from_continuations_and_a_resumed_run_has_the_same(
    tmp_path: Path, processed: Path
):
    out = tmp_path / "run"
    shutil.copytree(processed, out)

    played = list(Store.open(out / "trajectories").trajectories(Where(purpose="value")))
    assert played
    explored = {t.id: t for t in Store.open(out / "trajectories").trajectories(Where(purpose="explore"))}
    for t in played:
        begun = explored[t.id.replace("/value/", "/explore/").rsplit("/", 2)[0]]
        state = int(t.id.rsplit("/", 2)[1])
        assert t.ending.kind in ("terminated", "truncated")
        assert t.turns[: state + 1] == begun.turns[: state + 1]
        assert len(t.turns) > state + 1
    learnt = [one.learn for one in RunFolder.resume(out).summaries.run().iterations[1:]]
    assert sum(4 * one["process_states"] for one in learnt) == len(played)
    assert [one["process_mismatch_rate"] for one in learnt] == [0.0, 0.0]
    assert all(0 <= one["process_brier"] < 0.3 for one in learnt)
    assert all(-1 <= one["process_length_correlation"] <= 1 for one in learnt)
    assert (out / "process" / "0002" / "heads.st").is_file()

    # killed after iteration 2 had learnt values, and after it had learnt from them
    before, figures_before = rows(out), figures(out)
    after = weights(out, 2)
    for lost in ("checkpoints/0002", "iterations/0002.json"):
        _remove(out / "iterations" / "0002.json")
        _remove(out / lost)
        again = finish(resume(out))
        assert again.returncode == 0, again.stderr
        assert (rows(out), figures(out), weights(out, 2)) == (before, figures_before, after)
        found = RunFolder.resume(out).summaries.run().iterations[2].learn
        assert {k: v for k, v in found.items() if k.startswith("process_")} == {
            k: v for k, v in learnt[1].items() if k.startswith("process_")
        }


def _remove(place: Path) -> None:
    if place.is_dir():
        shutil.rmtree(place)
    else:
        place.unlink(missing_ok=True)


@pytest.mark.slow
def test_process_rewards_teach_other_weights_to_an_algorithm_that_credits_turns(
    tmp_path: Path, processed: Path, command: Command
):
    plain = tmp_path / "plain"
    done = finish(command(plain, *CREDITED, "iterations=1"))
    assert done.returncode == 0, done.stderr
    assert weights(plain, 0) == weights(processed, 0)
    assert weights(plain, 1) != weights(processed, 1)
