"""Runs on several nodes, and through their failures: a Ray cluster of three raylets on this machine."""

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
from typing import Any

import pytest
from support.processes import MARK, processes

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentgym_store.store import Store

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
Command = Callable[..., list[str]]
SAME = ("name=same", "learn.epochs=10", "learn.save_every=2")
"""Runs with these end like `calm`, whatever happens to them."""
EVALUATED, EXPLORED = 4, 160
"""Episodes of an evaluation and of an exploration."""
VICTIMS = ("RolloutWorker", "RolloutWorker", "LearnerWorker", "envs serve")
KILLS = 50


@pytest.fixture
def nodes(head: Any) -> Any:
    """Three nodes."""
    for _ in range(2):
        head.add_node(num_cpus=1)
    return head


@contextmanager
def going(arguments: list[str], mark: str) -> Generator[subprocess.Popen[str]]:
    """A run whose own processes bear a mark; it is gone afterwards."""
    environment = {**os.environ, MARK: mark}
    process = subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def until(has_come: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 600
    while not has_come():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def episodes(out: Path) -> int:
    """How many are in the table, by its log."""
    log = (out / "trajectories" / "_delta_log").glob("*.json")
    return sum(int(n) for file in log for n in re.findall(r'"numRecords\\?": ?(\d+)', file.read_text()))


def raylet(node: Any) -> int:
    return node.all_processes["raylet"][0].process.pid


def node_of(victim: str, cluster: Any) -> Any:
    """A node besides the head, which is the driver's own, with such a process on it."""
    others = [node for node in cluster.list_all_nodes() if node is not cluster.head_node]
    return next(node for node in others if processes(victim, [raylet(node)]))


def lose(node: Any) -> None:
    """All at once, as if it lost its power."""
    for pid in (raylet(node), *processes("", [raylet(node)])):
        os.kill(pid, signal.SIGKILL)


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


def summaries(out: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in sorted((out / "iterations").glob("*.json"))]


def faults(out: Path) -> Counter[str]:
    """Of all iterations."""
    return sum((Counter(one["faults"]) for one in summaries(out)), Counter())


def weights(out: Path, version: int) -> bytes:
    return (out / "checkpoints" / f"{version:04d}" / "model.safetensors").read_bytes()


def test_a_run_on_three_nodes_survives_the_loss_of_two_and_ends_like_one_on_one_machine(
    tmp_path: Path, calm: Path, command: Command, nodes: Any
):
    out = tmp_path / "run"
    with going(command(out, *SAME, f"ray.address={nodes.address}"), "nodes") as process:
        until(lambda: episodes(out) > EVALUATED, process)  # the table is behind what was played
        lose(node_of("RolloutWorker", nodes))
        until(lambda: (out / "checkpoints" / ".0001.state").exists(), process)
        lose(node_of("LearnerWorker", nodes))
        told, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    for one in summaries(out)[1:]:
        assert sum(one["explored"].values()) == one["requested"] == EXPLORED
    assert rows(out) == rows(calm)
    assert weights(out, 2) == weights(calm, 2)
    found = faults(out)
    assert found["lost_nodes"] == 2
    # a replacement may be put where Ray has not missed the node yet, and be lost with it
    assert found["lost_learners"] >= 1
    assert found["lost_workers"] >= 1
    assert found["replayed"] > 0
    assert found["learners_s"] > 0  # `workers_s` is 0 where the others had played all before one was replaced
    assert len(re.findall("node .* was lost", told)) >= 2  # besides those who were on it
    assert re.search(r"lost \d rollout worker", told)
    print({name: round(value, 1) for name, value in found.items() if value})  # noqa: T201 - what it cost


def progress(out: Path) -> tuple[object, ...]:
    """Differs from what it was before as soon as an episode is in the table, or a step of learning saved."""
    states = [(file.name, _written_at(file)) for file in (out / "checkpoints").glob(".*.state")]
    return episodes(out), states, len(list((out / "checkpoints").glob("0*")))


def _written_at(file: Path) -> int | None:
    """Time of the last write; None where the run has removed the file meanwhile."""
    try:
        return file.stat().st_mtime_ns
    except FileNotFoundError:
        return None


def kill_one(out: Path, mark: str, draw: random.Random) -> Counter[str]:
    """Soon after the run has made progress, or later where it makes none, so that all stages are met."""
    before, deadline = progress(out), time.monotonic() + draw.uniform(0.2, 2.8)
    while progress(out) == before and time.monotonic() < deadline:
        time.sleep(0.05)
    victim = draw.choice(VICTIMS)
    there = processes(victim, mark=mark)
    if not there:
        return Counter()
    os.kill(draw.choice(there), signal.SIGKILL)
    return Counter([victim])


def test_fifty_processes_killed_at_any_moment_cost_only_their_work(
    tmp_path: Path, calm: Path, command: Command
):
    patient = ("ray.max_replacements=50", "explore.retries=50", "explore.commit_every=4")
    draw, killed, found = random.Random(0), Counter[str](), Counter[str]()
    while killed.total() < KILLS:  # in as many runs as it takes: on a quick machine one is over before
        out, mark = tmp_path / f"run-{killed.total()}", f"{os.getpid()}-{killed.total()}"
        with going(command(out, *SAME, *patient), mark) as process:
            until(lambda out=out: episodes(out) >= EVALUATED // 2, process)
            while process.poll() is None and killed.total() < KILLS:
                killed += kill_one(out, mark, draw)
            _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        for one in summaries(out)[1:]:
            assert sum(one["explored"].values()) == one["requested"] == EXPLORED
        assert rows(out) == rows(calm)
        assert weights(out, 2) == weights(calm, 2)
        found += faults(out)
    assert 0 < found["lost_workers"] <= killed["RolloutWorker"]
    assert found["lost_learners"] <= killed["LearnerWorker"]
    assert found["lost_servers"] <= killed["envs serve"]
    assert found["replayed"] > 0
    print(killed, {name: round(value, 1) for name, value in found.items() if value})  # noqa: T201


def test_a_worker_that_hangs_is_replaced(tmp_path: Path, calm: Path, command: Command):
    out, mark = tmp_path / "run", f"{os.getpid()}-hangs"
    with going(command(out, *SAME, "engine.stall_s=2"), mark) as process:
        until(lambda: episodes(out) >= EVALUATED + 16, process)
        os.kill(processes("RolloutWorker", mark=mark)[0], signal.SIGSTOP)
        told, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert rows(out) == rows(calm)
    assert weights(out, 2) == weights(calm, 2)
    assert (faults(out)["stalled"], faults(out)["lost_workers"]) == (1, 0)
    assert "1 stalled rollout worker" in told


@contextmanager
def joined(cluster: Any, *prefix: str, labels: str = "", **environment: str) -> Generator[None]:
    """One node more, started by a command of its own; it is gone afterwards."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "start", f"--address={cluster.address}", "--block"]
    process = subprocess.Popen(
        [*prefix, *ray, "--num-cpus=1", *([f"--labels={labels}"] if labels else [])],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert any("runtime started" in line for line in process.stdout)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(60)


def without(folder: Path) -> list[str]:
    """What stands before a command that is not to see a folder, but an empty one in its place."""
    apart = subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False)
    if apart.returncode:
        pytest.skip("a folder that a node does not see needs the right to unshare mounts")
    return ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs tmpfs {folder} && exec "$@"', "sh"]


def test_a_node_that_cannot_take_part_is_told_before_a_run_begins(
    tmp_path: Path, command: Command, head: Any
):
    shared = tmp_path / "shared"
    shared.mkdir()
    arguments = command(shared / "run", f"ray.address={head.address}")

    def told() -> str:
        done = subprocess.run(arguments, capture_output=True, text=True, timeout=600)
        assert done.returncode == 2, done.stderr
        (line,) = done.stderr.strip().splitlines()
        return line

    other = tmp_path / "other" / "torch-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 0.0.1\n")
    path = os.pathsep.join([str(other.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    with joined(head, PYTHONPATH=path):
        assert re.search(r"node \S+ \(Ray node \w{8}\) has torch 0\.0\.1, this machine has", told())

    arguments = command(shared / "another", f"ray.address={head.address}")
    with joined(head, *without(shared)):
        assert re.search(r"node \S+ \(Ray node \w{8}\) cannot see the run's folder: put --out on", told())


def test_nodes_that_do_not_see_the_runs_folder_exchange_checkpoints_by_an_object_store(
    tmp_path: Path, calm: Path, command: Command, bucket: str, head: Any
):
    own, url, label = tmp_path / "own", f"{bucket}/runs/first", "role=worlds"
    own.mkdir()
    out, homes = own / "run", [tmp_path / "a", tmp_path / "b"]
    first, second = ({"AGENTEVOL_HOME": str(home), MARK: "apart"} for home in homes)
    settings = (f"ray.address={head.address}", f"ray.environment_labels.{label}", f"checkpoints={url}")

    def learnt_a_little() -> bool:
        return any(list(home.rglob(".0001.state")) for home in homes)

    with joined(head, *without(own), labels=label, **first), joined(head, *without(own), **second):
        with going(command(out, *SAME, *settings), "apart") as process:
            until(learnt_a_little, process)
            os.kill(processes("LearnerWorker", mark="apart")[0], signal.SIGKILL)
            _, errors = process.communicate(timeout=600)
        assert process.returncode == 0, errors
        assert rows(out) == rows(calm)
        assert weights(out, 2) == weights(calm, 2)
        assert faults(out)["lost_learners"] == 1
        assert list(homes[0].rglob("environment-server.log"))
        again = command(own / "again", *settings)
        refused = subprocess.run(again, capture_output=True, text=True, timeout=300)
        assert (refused.returncode, (own / "again").exists()) == (2, False)
        assert f"{url} is not empty: each run has one of its own" in refused.stderr
        (out / "iterations" / "0002.json").unlink()
        shutil.rmtree(out / "checkpoints" / "0002")
        resumed = [sys.executable, "-m", "agentevol", "run", "--resume", str(out)]
        done = subprocess.run(resumed, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stderr
    assert weights(out, 2) == weights(calm, 2)
    CheckpointStore(url, out).get(out / "checkpoints" / "0002", tmp_path / "copy")
    assert (tmp_path / "copy" / "model.safetensors").read_bytes() == weights(calm, 2)
