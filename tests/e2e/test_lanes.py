"""Many sessions at once on a real server: interleaved, cut off, killed, and every one accounted for."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.readiness import ready_address

from agentgym_client import EnvClient, EnvClientError, ServerProblem, Session
from agentgym_envs.alfworld import ALFWorld
from agentgym_envs.core import StepResult

SERVE = """
import sys
from agentgym_envs.alfworld import ALFWorld
from agentgym_server.serve import serve_environments
from agentgym_server.settings import ServerSettings
from support.server.environments import Echo, Mischief
if __name__ == "__main__":
    worlds = {"alfworld": ALFWorld, "echo": Echo, "mischief": Mischief}
    settings = ServerSettings.model_validate_json(sys.argv[2])
    sys.exit(serve_environments({sys.argv[1]: worlds[sys.argv[1]]}, 0, settings))
"""


@contextmanager
def served(env: str, **settings: object) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """A server process of one environment; its log is thrown away."""
    command = [sys.executable, "-c", SERVE, env, json.dumps(settings)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        yield process, ready_address(process)
    finally:
        process.kill()
        process.wait()


def descendants(pid: int) -> list[int]:
    lists = [file.read_text(encoding="ascii") for file in Path(f"/proc/{pid}/task").glob("*/children")]
    return [one for child in map(int, " ".join(lists).split()) for one in (child, *descendants(child))]


def private_mib(pid: int) -> float:
    rollup = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return sum(int(line.split()[1]) for line in rollup if line.startswith("Private_")) / 1024


def alone(task_id: str, seed: int, turns: int) -> list[StepResult]:
    """An episode of random admissible actions on the bare environment."""
    world, generator = ALFWorld(), random.Random(seed)
    actions = world.reset(world.task(task_id), seed).actions
    results: list[StepResult] = []
    while len(results) < turns and not (results and results[-1].terminated):
        results.append(world.step(generator.choice(actions or ("look",))))
        actions = results[-1].observation.actions
    return results


class Episode:
    """The same over a server, one step at a time."""

    def __init__(self, session: Session, seed: int) -> None:
        self.session = session
        self.results: list[StepResult] = []
        self._generator = random.Random(seed)

    async def step(self) -> None:
        actions = self.session.observation.actions
        self.results.append(await self.session.step(self._generator.choice(actions or ("look",))))


@pytest.mark.parametrize("workers", [None, 2])
async def test_two_hundred_interleaved_sessions_are_the_same_as_each_alone(workers: int | None):
    turns = 8
    with served("alfworld", workers=workers) as (_, url):
        async with EnvClient(url) as quick, EnvClient(url, lane="rest") as plain:
            page = await plain.tasks("alfworld", "train", limit=50)
            tasks = [page.tasks[seed % 50].task_id for seed in range(200)]
            clients = [plain if seed % 10 == 0 else quick for seed in range(200)]  # httpx is slow
            episodes = [
                Episode(await client.open("alfworld", task, seed=seed, max_turns=turns + 1), seed)
                for seed, (client, task) in enumerate(zip(clients, tasks, strict=True))
            ]
            await interleave(episodes, turns, random.Random(0))
    for seed, (episode, task) in enumerate(zip(episodes, tasks, strict=True)):
        assert episode.results == alone(task, seed, turns), seed


async def interleave(episodes: list[Episode], turns: int, order: random.Random) -> None:
    """Step everyone `turns` times in random order, some forty of them at any one time."""
    moves = [episode for episode in episodes for _ in range(turns)]
    order.shuffle(moves)
    busy = {id(episode): asyncio.Lock() for episode in episodes}
    slots = asyncio.Semaphore(40)

    async def move(episode: Episode) -> None:
        async with busy[id(episode)], slots:
            if not episode.session.done:
                await episode.step()

    await asyncio.gather(*(move(episode) for episode in moves))


async def test_one_session_driven_through_both_lanes_at_once_keeps_one_history():
    with served("echo") as (_, url):
        async with EnvClient(url) as quick, EnvClient(url, lane="rest") as plain:
            one = await quick.open("echo", "train/0")
            other = Session(plain._caller, await _view(plain, one), 60)
            await one.step("a")
            other.turn = 1
            assert (await other.step("b")).observation.text == "2: a b"
            raced = await asyncio.gather(_again(one, 3, "c"), _again(other, 3, "c"), _again(other, 3, "d"))
            assert sorted(raced) == ["3: a b c", "3: a b c", "action-mismatch"] or sorted(raced) == [
                "3: a b d",
                "action-mismatch",
                "action-mismatch",
            ]


async def _view(client: EnvClient, session: Session) -> dict[str, object]:
    import httpx

    async with httpx.AsyncClient(base_url=client.base_url) as http:
        return (await http.get(f"/sessions/{session.id}")).json()


async def _again(session: Session, turn: int, action: str) -> str:
    """A step with a turn number of one's own choosing."""
    session.turn = turn - 1
    try:
        return (await session.step(action)).observation.text
    except ServerProblem as problem:
        return problem.kind


async def test_a_websocket_outlives_the_time_for_a_head():
    with served("echo", head_timeout_s=0.3) as (_, url):
        async with EnvClient(url, retries=0) as client:
            session = await client.open("echo", "train/0")
            await asyncio.sleep(0.7)
            assert (await session.step("a")).observation.text == "1: a"


async def test_a_stop_tells_those_who_wait_that_their_sessions_are_lost():
    with served("mischief", workers=1, drain_s=0.5) as (process, url):
        async with EnvClient(url, retries=0) as client:
            session = await client.open("mischief", "train/0")
            hanging = asyncio.create_task(session.step("hang"))
            await asyncio.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            began = time.monotonic()
            with pytest.raises(ServerProblem) as told:
                await hanging
            assert (told.value.kind, told.value.failure) == ("worker-lost", "worker-lost")
            assert await asyncio.to_thread(process.wait, 10) == 0
            assert time.monotonic() - began < 10


class Accounts:
    """What clients were told, to be held against what the server counted."""

    def __init__(self) -> None:
        self.endings: Counter[str] = Counter()
        self.unanswered = 0
        self.mixed = 0
        """Replies that belonged to another session."""
        self.steps = 0


async def live(client: EnvClient, tasks: list[str], number: int, until: float, accounts: Accounts) -> None:
    """Episode after episode of random actions, each held against the bare environment as it goes."""
    generator = random.Random(number)
    world = ALFWorld()
    while time.monotonic() < until:
        task = generator.choice(tasks)
        seed = generator.randrange(2**31)
        try:
            session = await client.open("alfworld", task, seed=seed, max_turns=12)
        except ServerProblem as problem:
            if problem.kind not in ("worker-lost", "overloaded", "capacity"):
                raise
            continue  # no session came of it
        expected = world.reset(world.task(task), seed)
        accounts.mixed += session.observation != expected
        accounts.endings[await _play(session, world, generator, accounts)] += 1


async def _play(session: Session, world: ALFWorld, generator: random.Random, accounts: Accounts) -> str:
    while True:
        action = generator.choice(session.observation.actions or ("look",))
        try:
            result = await session.step(action)
        except ServerProblem as problem:
            if problem.kind not in ("worker-lost", "session-failed"):
                raise
            return await closed(session)
        except EnvClientError:
            accounts.unanswered += 1
            raise
        accounts.steps += 1
        expected = world.step(action)
        accounts.mixed += result.observation != expected.observation or result.reward != expected.reward
        if session.done:
            told = "terminated" if session.terminated else "truncated"
            assert await closed(session) == told
            return told
        if generator.random() < 0.02:
            return await closed(session)  # cancelled, unless its worker was killed just before


async def closed(session: Session) -> str:
    await session.close()
    assert session.outcome is not None
    return session.outcome


async def hunt(pid: int, every_s: float, seconds: float, generator: random.Random) -> int:
    """Kill a random worker now and then; how many died."""
    killed, until = 0, time.monotonic() + seconds - 2
    while time.monotonic() < until:
        await asyncio.sleep(every_s)
        workers = [one for child in descendants(pid) for one in descendants(child)]
        if workers:
            os.kill(generator.choice(workers), signal.SIGKILL)
            killed += 1
    return killed


WORKERS = 4


async def storm(sessions: int, seconds: float, every_s: float, memory_s: float) -> str:
    """Sessions by the hundred while workers are killed; then everything must add up.

    `memory_s`: how long the server remembers sessions that are gone; longer than any client may be late.
    """
    settings = {"workers": WORKERS, "max_sessions": 2 * sessions, "log_level": "error"}
    settings |= {"tombstone_s": memory_s, "idempotency_s": memory_s}
    with served("alfworld", **settings) as (process, url):
        async with EnvClient(url) as client:
            page = await client.tasks("alfworld", "train", limit=100)
            tasks = [task.task_id for task in page.tasks]
            await crowd(client, tasks, sessions, memory_s + 3, Accounts())  # until it has all memory it needs
            await forgotten(client, memory_s)
            before_mib, health = private_mib(process.pid), await client.health()
            accounts = Accounts()
            hunting = asyncio.create_task(hunt(process.pid, every_s, seconds, random.Random(1)))
            await crowd(client, tasks, sessions, seconds, accounts)
            killed, after = await hunting, await client.health()
            finished = {name: n - health["finished"][name] for name, n in after["finished"].items()}
            assert finished == {name: accounts.endings[name] for name in finished}
            assert killed > 0
            assert accounts.endings["failed"] > 0
            assert (accounts.unanswered, accounts.mixed) == (0, 0)
            assert after["sessions"]["active"] == 0
            assert after["created"] == sum(after["finished"].values())
            await mended(client)
            await forgotten(client, memory_s)
            grown_mib = private_mib(process.pid) - before_mib
            assert grown_mib < 16
    return f"{accounts.steps} steps, {killed} kills, {dict(accounts.endings)}, {grown_mib:+.1f} MiB"


async def forgotten(client: EnvClient, memory_s: float) -> None:
    """Wait until tombstones and keys are gone; the next session sweeps the last of them away."""
    await asyncio.sleep(memory_s + 1.0)
    await (await client.open("alfworld", "train/small/0")).close()
    await asyncio.sleep(1.0)


async def crowd(
    client: EnvClient, tasks: list[str], sessions: int, seconds: float, accounts: Accounts
) -> None:
    """So many players for so long."""
    until = time.monotonic() + seconds
    await asyncio.gather(*(live(client, tasks, number, until, accounts) for number in range(sessions)))


async def mended(client: EnvClient) -> None:
    """Wait until every worker is up again."""
    async with asyncio.timeout(20):
        while (await client.health())["workers"]["alive"] < WORKERS:  # noqa: ASYNC110 - what it is about
            await asyncio.sleep(0.1)


@pytest.mark.slow
async def test_a_storm_of_kills_costs_sessions_and_no_account():
    await storm(sessions=60, seconds=6, every_s=1.0, memory_s=2.0)


@pytest.mark.slow
async def test_a_thousand_sessions_for_a_minute_while_workers_are_killed():
    await storm(sessions=1000, seconds=60, every_s=1.5, memory_s=10.0)
