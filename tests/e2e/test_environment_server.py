"""The environment server that a run starts: beyond this machine only with a token, and again when it dies."""

import asyncio
import os
import signal
import socket
import time
from pathlib import Path
from typing import Literal

import pytest

from agentevol.config.sections.environment import EnvironmentConfig
from agentevol.rollout import environment_server
from agentevol.rollout.environment_server import EnvironmentServer
from agentevol.rollout.faults import FaultLog
from agentgym_client import EnvClient
from agentgym_client.errors import EnvClientError, ServerProblem
from agentgym_server.settings import is_loopback

GUESS = EnvironmentConfig(name="guess")


async def first_words(url: str, lane: Literal["auto", "rest"]) -> str:
    async with EnvClient(url, lane=lane) as client:
        page = await client.tasks("guess", limit=1)
        session = await client.open("guess", page.tasks[0].task_id)
        opening = session.observation.text
        await session.step("4")
        await session.close()
        return opening


@pytest.mark.parametrize("lane", ["auto", "rest"])
def test_beyond_this_machine_a_server_asks_for_the_token_that_its_address_has(
    tmp_path: Path, lane: Literal["auto", "rest"]
):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as looked_up:
        looked_up.connect(("192.0.2.1", 9))  # sends nothing; says by which address it would
        host = looked_up.getsockname()[0]
    assert not is_loopback(host)
    with EnvironmentServer(GUESS, tmp_path / "log", host=host) as server:
        assert server.url.startswith("http://agentevol:")
        assert asyncio.run(first_words(server.url, lane)) == "Make a guess."
        token = server.url.partition("@")[0].rpartition(":")[2]
        with pytest.raises(ServerProblem, match="unauthorized"):
            asyncio.run(first_words(server.url.replace(token, "x" * len(token)), lane))
        assert token not in (tmp_path / "log").read_text()


def test_a_lost_server_comes_again_at_its_address_and_is_counted(tmp_path: Path):
    told: list[str] = []
    faults = FaultLog(told.append)
    with EnvironmentServer(GUESS, tmp_path / "log", faults=faults) as server:
        assert server.url.startswith("http://127.0.0.1:")
        lost = server.pid
        os.kill(lost, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while server.pid == lost and time.monotonic() < deadline:
            time.sleep(0.01)
        assert asyncio.run(first_words(server.url, "auto")) == "Make a guess."
        assert told == ["the environment server was lost, and is restarted"]
        while (noted := faults.take()).servers_s == 0 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert noted.servers_s > 0


def test_what_a_client_says_of_an_address_that_does_not_answer_has_no_token_in_it():
    async def ask() -> str:
        async with EnvClient("http://agentevol:secret@127.0.0.1:9", retries=0) as client:
            with pytest.raises(EnvClientError) as raised:
                await client.open("guess", "guess-1")
            return str(raised.value)

    told = asyncio.run(ask())
    assert "secret" not in told


def test_a_server_that_cannot_be_started_again_ends_the_run_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(environment_server, "RESTARTS", 2)
    monkeypatch.setattr(environment_server, "RETRY_S", 0.0)
    told: list[str] = []
    faults = FaultLog(told.append)
    with EnvironmentServer(GUESS, tmp_path / "log", faults=faults) as server:
        assert server.url
        monkeypatch.setattr(environment_server, "command", lambda *_: ["/bin/false"])
        os.kill(server.pid, signal.SIGKILL)
        deadline = time.monotonic() + 60
        while faults.reason is None and time.monotonic() < deadline:
            time.sleep(0.01)
    assert faults.reason is not None
    assert "could not be started again in 2 tries: the environment server did not start" in faults.reason
    assert told[-1] == faults.reason
    noted = faults.take()
    assert (noted.lost_servers, noted.servers_s) == (1, 0.0)  # nothing has recovered
