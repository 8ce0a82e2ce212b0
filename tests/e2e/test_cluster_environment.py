"""The environment server on a node with a label: what it is asked, and what is done when it is lost."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentevol.cluster.cluster import Cluster
from agentevol.cluster.workers.environment import PlacedServer
from agentevol.config.run import load
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.rollout.faults import FaultLog
from agentgym_client import EnvClient

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean_environment")]
LABEL = "ray.environment_labels.role=worlds"


async def opening(url: str) -> str:
    async with EnvClient(url) as client:
        page = await client.tasks("guess", limit=1)
        session = await client.open("guess", page.tasks[0].task_id)
        await session.close()
        return session.observation.text


def until(has_come: Callable[[], bool], seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not has_come():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def asked(server: PlacedServer, question: Callable[[Any], Any]) -> Any:
    import ray

    return ray.get(server._process.__ray_call__.remote(question), timeout=60)


def test_the_server_is_where_the_label_is_and_comes_again_at_its_address(head: Any, tmp_path: Path):
    head.add_node(num_cpus=1)
    labelled = head.add_node(num_cpus=1, labels={"role": "worlds", "zone": "b"})
    told: list[str] = []
    faults = FaultLog(told.append)
    config = load(None, [f"ray.address={head.address}", LABEL, "environment.name=guess"])
    served = [config.environment]
    with Cluster(config, faults) as cluster, cluster.environment(tmp_path / "log", served) as server:
        assert isinstance(server, PlacedServer)
        assert server.url.startswith("http://agentevol:")  # beyond this machine with a token
        assert asyncio.run(opening(server.url)) == "Make a guess."

        def where(_: Any) -> str:
            import ray

            return ray.get_runtime_context().get_node_id()

        assert asked(server, where) == labelled.node_id
        cluster.check_nodes(tmp_path, server.url)

        os.kill(asked(server, lambda worker: worker._server.pid), signal.SIGKILL)
        until(lambda: told == ["the environment server was lost, and is restarted"])
        assert asyncio.run(opening(server.url)) == "Make a guess."
        noted = [faults.take()]

        def seconds() -> int:
            noted.append(faults.take())
            return sum(one.servers_s > 0 for one in noted)

        until(lambda: seconds() == 1)
        os.kill(asked(server, lambda _: os.getpid()), signal.SIGKILL)
        until(lambda: len(told) == 2)
        assert asyncio.run(opening(server.url)) == "Make a guess."
        until(lambda: seconds() == 2)
        assert sum(one.lost_servers for one in noted) == 2

        head.remove_node(labelled, allow_graceful=False)
        line = r"^node \S+ \(Ray node \w+\) was lost, and the environment server ran there: resume the run"
        with pytest.raises(RunStopped, match=line):
            until(lambda: cluster._members.look(at_once=True) is not None)


def test_a_label_that_no_node_has_is_told(head: Any, tmp_path: Path):
    config = load(None, [f"ray.address={head.address}", LABEL, "ray.environment_labels.zone=b"])
    with Cluster(config) as cluster, pytest.raises(ConfigError) as raised:
        cluster.environment(tmp_path / "log", [config.environment]).__enter__()
    assert str(raised.value) == (
        "ray.environment_labels: no node has role=worlds,zone=b; start one with `ray start --labels"
        " role=worlds,zone=b`"
    )


def test_a_run_that_loses_its_environment_node_ends_with_one_line_and_is_resumed_on_another(
    head: Any, tmp_path: Path, command: Callable[..., list[str]]
):
    lost = head.add_node(num_cpus=1, labels={"role": "worlds"})
    out = tmp_path / "run"
    arguments = command(out, f"ray.address={head.address}", LABEL)
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    until(lambda: (out / "iterations" / "0000.json").exists() or process.poll() is not None, 300)
    head.remove_node(lost, allow_graceful=False)
    _, errors = process.communicate(timeout=300)
    assert process.returncode != 0
    (line,) = errors.strip().splitlines()
    assert "was lost, and the environment server ran there: resume the run" in line
    head.add_node(num_cpus=1, labels={"role": "worlds"})
    resumed = subprocess.run(
        [sys.executable, "-m", "agentevol", "run", "--resume", str(out)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert resumed.returncode == 0, resumed.stderr
    last = json.loads((out / "iterations" / "0002.json").read_text())
    assert sum(last["explored"].values()) == last["requested"]
