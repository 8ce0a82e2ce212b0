"""A real server process on a free port: starting, stopping, and what a kill in between costs."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from support.readiness import ready_address

from agentgym_client import EnvClient, ServerProblem, Session, TransportError

SERVE = """
import sys
from agentgym_server.serve import serve_environments
from agentgym_server.settings import ServerSettings
from support.server.environments import Echo, Mischief
if __name__ == "__main__":
    port, settings = int(sys.argv[1]), ServerSettings.model_validate_json(sys.argv[2])
    sys.exit(serve_environments({"echo": Echo, "mischief": Mischief}, port, settings))
"""


def command(port: int, settings: dict[str, object]) -> list[str]:
    return [sys.executable, "-c", SERVE, str(port), json.dumps(settings)]


@contextmanager
def served(**settings: object) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server process and its address; what is left of it is killed."""
    process = subprocess.Popen(
        command(0, settings), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        yield process, ready_address(process)
    finally:
        process.kill()
        process.wait()


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123 - a zombie is dead
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def dies(pid: int) -> bool:
    """Whether a process ends within ten seconds."""
    end = time.monotonic() + 10
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.05)
    return not alive(pid)


async def test_a_worker_killed_in_the_middle_costs_its_episodes_and_the_server_goes_on():
    with served(workers=2) as (_, address):
        async with EnvClient(address) as client:
            sessions = [await client.open("mischief", f"train/{n % 3}", seed=n) for n in range(8)]
            homes = [int((await session.step("pid")).observation.text) for session in sessions]
            assert len(set(homes)) == 2
            os.kill(homes[0], signal.SIGKILL)
            results = await asyncio.gather(*(outcome(session) for session in sessions))
            assert results == ["worker-lost" if home == homes[0] else "1: hello" for home in homes]
            again = await client.open("mischief", "train/0")
            assert (await again.step("hello")).observation.text == "1: hello"
            health = await client.health()
            assert health["finished"]["failed"] == homes.count(homes[0])
            assert health["created"] == 9 == sum(health["finished"].values()) + health["sessions"]["active"]


async def outcome(session: Session) -> str:
    """What a step led to: the observation, or what broke."""
    try:
        return (await session.step("hello")).observation.text
    except ServerProblem as problem:
        return problem.failure


async def test_many_episodes_at_once_over_few_connections():
    with served() as (_, address):
        async with EnvClient(address, connections=8) as client:

            async def episode(number: int) -> list[str]:
                session = await client.open("echo", f"train/{number % 3}", seed=number)
                texts = [(await session.step(action)).observation.text for action in (f"a{number}", "stop")]
                await session.close()
                return texts

            results = await asyncio.gather(*(episode(number) for number in range(60)))
            assert results == [[f"1: a{number}", f"2: a{number} stop"] for number in range(60)]
            assert (await client.health())["finished"]["terminated"] == 60


async def test_any_client_can_speak_to_it():
    with served() as (_, address):
        health = await asyncio.to_thread(lambda: json.load(urllib.request.urlopen(f"{address}/health")))
        assert health["status"] == "healthy"
        with socket.create_connection(address.removeprefix("http://").split(":")) as slow:  # type: ignore[arg-type]
            slow.sendall(b"GET /health HT")  # a slow one delays nobody
            assert await asyncio.to_thread(lambda: urllib.request.urlopen(f"{address}/ready").status) == 200


async def test_a_slow_head_and_a_big_head_are_cut_off():
    with served(head_timeout_s=0.3) as (_, address):
        host, port = address.removeprefix("http://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert (await reader.readuntil(b"\r\n")) == b"HTTP/1.1 200 OK\r\n"
        await reader.readuntil(b"}}")
        writer.write(b"GET /hea")
        async with asyncio.timeout(10):
            assert await reader.read() == b""  # closed: the second head never came
        writer.close()
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 100_000 + b"\r\n\r\n")
        async with asyncio.timeout(10):
            assert (await reader.readuntil(b"\r\n"))[9:12] in (b"400", b"431")
        writer.close()


def test_a_busy_port_is_one_clear_line():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        result = subprocess.run(command(port, {}), capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr == (
        f"error: cannot listen on 127.0.0.1:{port}: Address already in use; "
        "choose another port (0 takes a free one)\n"
    )
    assert result.stdout == ""


def test_an_open_address_without_a_token_is_refused():
    settings = {"host": "0.0.0.0"}
    result = subprocess.run(command(0, settings), capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("error: 0.0.0.0 is reachable from other machines: set AGENTEVOL_TOKEN")
    assert result.stderr.count("\n") == 1


async def test_a_term_signal_lets_open_episodes_finish():
    with served(workers=1, drain_s=20) as (process, address):
        async with EnvClient(address, patience_s=0.1) as client:
            session = await client.open("mischief", "train/0")
            worker = int((await session.step("pid")).observation.text)
            os.killpg(process.pid, signal.SIGTERM)  # as service managers do: its worker gets it too
            with pytest.raises(ServerProblem, match="draining"):
                await open_and_close_forever(client)
            assert (await session.step("stop")).terminated
            assert await asyncio.to_thread(process.wait, 20) == 0
            assert not alive(worker)
        async with EnvClient(address, retries=1) as client:
            with pytest.raises(TransportError):
                await client.health()


async def open_and_close_forever(client: EnvClient) -> None:
    """Until the server has other plans."""
    while True:
        await (await client.open("echo", "train/0")).close()


async def test_workers_die_with_a_killed_server():
    with served(workers=1) as (process, address):
        async with EnvClient(address) as client:
            session = await client.open("mischief", "train/0")
            worker = int((await session.step("pid")).observation.text)
            hanging = asyncio.create_task(session.step("hang"))
            await asyncio.sleep(0.2)
            process.kill()
            assert await asyncio.to_thread(dies, worker)
            hanging.cancel()
