"""`agentevol envs up` as a user types it: processes that are killed, hang and drain behind one address."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest
import websockets
from support.readiness import ready_address

from agentgym_client import EnvClient, ServerProblem
from agentgym_server.sessions.session import instance_tag

UP = (sys.executable, "-m", "agentevol", "envs", "up")
GATEWAY = (sys.executable, "-m", "agentevol", "envs", "gateway")
TASKS = {"guess": "guess-1", "alfworld": "train/small/0"}


class Up:
    """A running `agentevol envs up`."""

    def __init__(self, process: "subprocess.Popen[str]", address: str) -> None:
        self.process, self.address = process, address

    def children(self) -> dict[str, int]:
        """Process ids of the servers by their tag."""
        found = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                words = (folder / "cmdline").read_text().split("\0")
            except OSError:
                continue
            instance = [word.partition("=")[2] for word in words if word.startswith("--instance=")]
            if parent == self.process.pid and instance:
                found[instance_tag(int(instance[0]))] = int(folder.name)
        return found


@contextmanager
def running(*arguments: str, environment: dict[str, str] | None = None) -> Iterator[Up]:
    """The command, from `ready` to its end; what is left of it is killed."""
    process = subprocess.Popen(
        [*UP, *arguments, "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )
    up = Up(process, "")
    try:
        up.address = ready_address(process)
        yield up
    finally:
        for pid in [process.pid, *up.children().values()]:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def all_end(pids: list[int], within_s: float = 20) -> bool:
    end = time.monotonic() + within_s
    while any(map(alive, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    return not any(map(alive, pids))


async def until(condition: Callable[[], Awaitable[bool]], within_s: int = 30) -> None:
    """Wait until this gives true."""
    for _ in range(10 * within_s):
        if await condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError(f"not within {within_s} s")


@asynccontextmanager
async def lane(address: str) -> AsyncIterator[websockets.ClientConnection]:
    url = f"ws{address.removeprefix('http')}/ws"
    async with websockets.connect(url, subprotocols=[websockets.Subprotocol("agentevol.v1")]) as socket:
        yield socket


@pytest.fixture(scope="module")
def up() -> Iterator[Up]:
    with running("guess", "alfworld", "--replicas", "2") as up:
        yield up


async def test_two_environments_with_replicas_answer_at_one_address(up: Up):
    async with EnvClient(up.address) as client:
        sessions = [await client.open(env, TASKS[env], seed=n) for env in TASKS for n in range(4)]
        tags = [session.id[2:6] for session in sessions]
        assert len(set(tags[:4])) == len(set(tags[4:])) == 2
        assert set(tags) == set(up.children())
        texts = [(await session.step("1")).observation.text for session in sessions[:4]]
        assert texts == ["Right."] * 4
        assert "You" in (await sessions[4].step("look")).observation.text
        for session in sessions:
            await session.close()
        assert (await client.health())["sessions"]["active"] == 0


async def test_one_websocket_and_its_batches_reach_every_server(up: Up):
    async with lane(up.address) as socket:
        assert socket.subprotocol == "agentevol.v1"
        create = [{"op": "create", "env": env, "task_id": task} for env, task in TASKS.items()] * 2
        await socket.send(json.dumps({"id": "all", "op": "batch", "items": create}))
        results = json.loads(await socket.recv())["result"]["results"]
        assert [(result["status"], result["result"]["env"]) for result in results] == [
            (201, "guess"),
            (201, "alfworld"),
        ] * 2
        ids = [result["result"]["session_id"] for result in results]
        assert len({session[2:6] for session in ids}) == 4
        for session in ids:
            frame = {"id": session, "op": "step", "session_id": session, "turn": 1, "action": "look"}
            await socket.send(json.dumps(frame))
        replies = [json.loads(await socket.recv()) for _ in ids]
        assert sorted(reply["id"] for reply in replies) == sorted(ids)
        assert all(reply["ok"] and reply["result"]["turn"] == 1 for reply in replies)
        close = [{"op": "delete", "session_id": session} for session in ids]
        await socket.send(json.dumps({"id": "end", "op": "batch", "items": close}))
        assert json.loads(await socket.recv())["ok"]


async def test_a_killed_server_costs_its_sessions_and_a_new_one_comes(up: Up):
    async with EnvClient(up.address) as client:
        opened = [await client.open("guess", "guess-1") for _ in range(2)]
        sessions = {session.id[2:6]: session for session in opened}
        other = await client.open("alfworld", TASKS["alfworld"])
        (dead, session), (_, spared) = sessions.items()
        async with lane(up.address) as socket:
            frame = {"id": "a", "op": "get", "session_id": session.id}
            await socket.send(json.dumps(frame))
            assert json.loads(await socket.recv())["ok"]
            os.kill(up.children()[dead], signal.SIGKILL)
            began = time.monotonic()
            with pytest.raises(ServerProblem) as caught:
                await session.step("1")
            await socket.send(json.dumps(frame))
            reply = json.loads(await socket.recv())
            assert time.monotonic() - began < 2
        assert (caught.value.status, caught.value.failure) == (502, "worker-lost")
        assert "reward" not in caught.value.members
        assert (reply["status"], reply["result"]["state"]) == (200, "failed")
        assert reply["result"]["failure"]["kind"] == "worker-lost"
        assert (await spared.step("1")).terminated
        assert not (await other.step("look")).terminated

        async def whole() -> bool:
            return (await client.health())["status"] == "healthy"

        await until(whole)
        assert dead not in up.children()
        fresh = [await client.open("guess", "guess-1") for _ in range(3)]
        assert {one.id[2:6] for one in fresh} - set(sessions)
        with pytest.raises(ServerProblem, match="worker-lost"):  # it stays lost, and is not unknown
            await session.step("1")


async def test_a_waiting_creation_gets_a_slot_that_another_replica_frees():
    with running("guess", "--max-sessions", "2", "--replicas", "2") as up:
        async with EnvClient(up.address) as client, httpx.AsyncClient(base_url=up.address) as http:
            opened = [await client.open("guess", "guess-1") for _ in range(4)]
            full = await http.post("/envs/guess/sessions", json={"task_id": "guess-1"})
            health = await client.health()
            assert full.json()["max_sessions"] == health["sessions"]["max"] == 4
            assert full.json()["active_sessions"] == health["sessions"]["active"] == 4
            for tag in sorted(up.children()):
                request = {"json": {"task_id": "guess-1"}, "headers": {"prefer": "wait=30"}}
                waiting = asyncio.create_task(http.post("/envs/guess/sessions", timeout=40, **request))
                await asyncio.sleep(0.5)
                await next(session for session in opened if session.id[2:6] == tag).close()
                began = time.monotonic()
                reply = await waiting
                assert time.monotonic() - began < 15  # promptly: the wait is 30 s
                assert (reply.status_code, reply.json()["session_id"][2:6]) == (201, tag)


async def test_term_lets_sessions_finish_then_everything_ends():
    with running("guess", "--replicas", "2") as up:
        children = list(up.children().values())
        assert len(children) == 2
        async with EnvClient(up.address, patience_s=0.1) as client:
            session = await client.open("guess", "guess-1")
            up.process.send_signal(signal.SIGTERM)

            async def refused() -> bool:
                try:
                    await (await client.open("guess", "guess-1")).close()
                except ServerProblem as problem:
                    return problem.kind == "draining"
                return False

            await until(refused)
            assert (await session.step("1")).terminated
            assert await asyncio.to_thread(up.process.wait, 20) == 0
            assert all_end(children, 1)


async def test_a_second_signal_does_not_wait_for_sessions():
    with running("guess") as up:
        children = list(up.children().values())
        async with EnvClient(up.address) as client:
            await client.open("guess", "guess-1")
            up.process.send_signal(signal.SIGTERM)
            await asyncio.sleep(0.3)
            assert up.process.poll() is None
            up.process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(up.process.wait, 5) == 0
            assert all_end(children, 5)


async def test_no_child_outlives_a_killed_supervisor():
    with running("guess", "--replicas", "2") as up:
        children = list(up.children().values())
        async with EnvClient(up.address) as client:
            await client.open("guess", "guess-1")
            up.process.kill()
            assert await asyncio.to_thread(all_end, children, 10)


@pytest.mark.slow
async def test_a_server_that_hangs_is_replaced():
    with running("guess") as up:
        ((tag, pid),) = up.children().items()
        async with EnvClient(up.address, patience_s=60) as client:
            session = await client.open("guess", "guess-1")
            os.kill(pid, signal.SIGSTOP)
            with pytest.raises(ServerProblem, match="worker-lost"):
                await session.step("1")

            async def replaced() -> bool:
                return up.children().keys() - {tag} != set()

            await until(replaced, 40)
            assert not alive(pid)
            assert (await (await client.open("guess", "guess-1")).step("1")).terminated


def test_the_token_is_needed_and_on_no_command_line(tmp_path: Path):
    (tmp_path / "token").write_text("a-secret-of-mine\n")

    async def check(up: Up) -> None:
        async with EnvClient(up.address) as stranger:
            with pytest.raises(ServerProblem, match="unauthorized"):
                await stranger.open("guess", "guess-1")
        async with EnvClient(up.address, token="a-secret-of-mine") as client:
            assert (await (await client.open("guess", "guess-1")).step("1")).terminated
            assert (await client.health())["created"] == 1

    with running("guess", "--token-file", str(tmp_path / "token")) as up:
        asyncio.run(check(up))
        for pid in (up.process.pid, *up.children().values()):
            assert "a-secret-of-mine" not in Path(f"/proc/{pid}/cmdline").read_text()


SLOW = """
import sys
from agentgym_server.serve import serve_environments
from agentgym_server.settings import ServerSettings
from support.server.environments import Slow
sys.exit(serve_environments({"slow": Slow}, 0, ServerSettings(instance=int(sys.argv[1]))))
"""


@contextmanager
def started(*command: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A process that says `ready`, and its address."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process, process.stdout.readline().split()[1]
    finally:
        process.kill()
        process.wait()


@contextmanager
def two_slow_servers() -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """The first of two servers, and the gateway in front of both."""
    servers = [(sys.executable, "-c", SLOW, instance) for instance in "12"]
    with started(*servers[0]) as (one, first), started(*servers[1]) as (_, second):
        backends = ["--backend", f"slow={first}", "--backend", f"slow={second}"]
        with started(*GATEWAY, *backends, "--port", "0") as (gateway, address):
            yield one, address
            gateway.send_signal(signal.SIGTERM)
            assert gateway.wait(10) == 0


async def test_requests_in_flight_to_a_killed_server_fail_at_once():
    with two_slow_servers() as (victim, address):
        async with EnvClient(address, connections=128, lane="rest") as client:
            sessions = [await client.open("slow", "train/0") for _ in range(100)]
            steps = [asyncio.create_task(session.step("4")) for session in sessions]
            await asyncio.sleep(1)
            victim.kill()
            began = time.monotonic()
            lost = [step for step, one in zip(steps, sessions, strict=True) if one.id[2:6] == "AAAB"]
            errors = await asyncio.gather(*lost, return_exceptions=True)
            assert time.monotonic() - began < 2  # long before the steps would have ended
            assert [getattr(error, "failure", None) for error in errors] == ["worker-lost"] * 50
            rest = await asyncio.gather(*(step for step in steps if step not in lost))
            assert [step.observation.text for step in rest] == ["step 1"] * 50
            health = await client.health()
            assert (health["status"], health["created"]) == ("degraded", 50)


async def test_frames_in_flight_to_a_killed_server_fail_at_once():
    with two_slow_servers() as (victim, address):
        async with EnvClient(address) as client, lane(address) as socket:
            sessions = [await client.open("slow", "train/0") for _ in range(40)]
            for session in sessions:
                frame = {"id": session.id, "op": "step", "session_id": session.id, "turn": 1, "action": "4"}
                await socket.send(json.dumps(frame))
            await asyncio.sleep(1)
            victim.kill()
            began = time.monotonic()
            first = [json.loads(await socket.recv()) for _ in range(20)]
            assert time.monotonic() - began < 2
            assert {reply["id"][2:6] for reply in first} == {"AAAB"}
            assert [reply["problem"]["failure"]["kind"] for reply in first] == ["worker-lost"] * 20
            rest = [json.loads(await socket.recv()) for _ in range(20)]
            assert all(reply["ok"] and reply["id"][2:6] == "AAAC" for reply in rest)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--option", "guess.nonsense=1"], "error: guess: an environment cannot be built: TypeError"),
        (["--host", "0.0.0.0"], "error: 0.0.0.0 is reachable from other machines: set AGENTEVOL_TOKEN"),
        (["--host", "203.0.113.1", "--insecure-no-auth"], "error: cannot listen on 203.0.113.1:0"),
    ],
)
def test_what_cannot_start_is_one_clear_line(arguments: list[str], line: str):
    done = subprocess.run(
        [*UP, "guess", *arguments, "--port", "0"], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("published", ["0.0.0.0", "203.0.113.1", "envs.example"])
def test_a_gateway_that_is_published_beyond_loopback_wants_a_token(published: str):
    command = [*GATEWAY, "--backend", "guess=http://127.0.0.1:9", "--port", "0", "--published", published]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {published} is reachable from other machines: set AGENTEVOL_TOKEN")
