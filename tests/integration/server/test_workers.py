"""Worker processes: what crashes or hangs costs its worker's episodes, and nobody else's."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from support.server.environments import Broken, Echo, Heavy, Mischief, Threaded

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.monitoring.histograms import Histogram
from agentgym_server.service import Service
from agentgym_server.workers.fork_server import WorkerStartFailed
from agentgym_server.workers.pool import PoolTimes, Worker, WorkerLimits, WorkerPool

WORLDS = {"mischief": Mischief, "echo": Echo}


class Farm:
    """A served application with two workers."""

    def __init__(self, http: httpx.AsyncClient, service: Service) -> None:
        self.http = http
        self.service = service

    @property
    def pool(self) -> WorkerPool:
        return self.service.pools["mischief"]

    async def open(self, env: str = "mischief", **body: Any) -> str:
        reply = await self.http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", **body})
        assert reply.status_code == 201, reply.text
        return reply.json()["session_id"]

    async def step(self, session: str, turn: int, action: str) -> httpx.Response:
        return await self.http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})

    async def view(self, session: str) -> dict[str, Any]:
        return (await self.http.get(f"/sessions/{session}")).json()

    async def health(self) -> dict[str, Any]:
        return (await self.http.get("/health")).json()

    async def mended(self) -> None:
        """Wait until every worker is up again."""
        async with asyncio.timeout(20):
            while (await self.health())["status"] != "healthy":  # noqa: ASYNC110 - what the test is about
                await asyncio.sleep(0.02)


@pytest.fixture
async def farm() -> AsyncIterator[Farm]:
    app = create_app(WORLDS, settings=ServerSettings(workers=2, step_deadline_s=0.5))
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield Farm(http, service)
    await service.close()


def slug(reply: httpx.Response) -> str:
    return reply.json()["type"].removeprefix("urn:agentevol:problem:")


async def test_workers_play_like_the_event_loop(farm: Farm):
    assert len(farm.pool.pids) == 2
    parent = await farm.open("echo", seed=4)
    assert (await farm.view(parent))["observation"] == "Say stop. This is episode 0. Seed 4."
    assert (await farm.step(parent, 1, "one")).json()["info"] == {"available_actions": ["say", "stop"]}
    child = (await farm.http.post(f"/sessions/{parent}/fork")).json()["session_id"]
    early = (await farm.http.post(f"/sessions/{parent}/fork", json={"at_turn": 0})).json()["session_id"]
    assert (await farm.step(child, 2, "two")).json()["observation"] == "2: one two"
    assert (await farm.step(early, 1, "new")).json()["observation"] == "1: new"
    assert (await farm.step(parent, 2, "stop")).json()["terminated"] is True
    unknown = await farm.http.post("/envs/echo/sessions", json={"task_id": "train/9"})
    assert slug(unknown) == "task-not-found"
    noisy = await farm.open()
    assert (await farm.step(noisy, 1, "print")).json()["observation"] == "1: print"


async def test_sessions_are_spread_over_the_workers(farm: Farm):
    sessions = [await farm.open() for _ in range(4)]
    homes = [(await farm.step(session, 1, "pid")).json()["observation"] for session in sessions]
    assert sorted(homes) == sorted(map(str, farm.pool.pids * 2))


async def test_an_exception_fails_its_session_and_leaves_the_worker_up(
    farm: Farm, caplog: pytest.LogCaptureFixture
):
    one, two, three, four = [await farm.open() for _ in range(4)]
    for mischief, session in (("raise", one), ("nan", two), ("lie", three)):
        reply = await farm.step(session, 1, mischief)
        assert (reply.status_code, slug(reply)) == (500, "internal")
        assert "secret" not in reply.text
        assert reply.json()["incident"] in caplog.text
    assert (await farm.step(four, 1, "hello")).status_code == 200
    assert (await farm.health())["workers"] == {"alive": 4, "restarts": 0}


@pytest.mark.parametrize("mischief", ["exit", "kill"])
async def test_a_crash_costs_the_sessions_of_its_worker_only(farm: Farm, mischief: str):
    sessions = [await farm.open() for _ in range(4)]  # dealt in turn: 0 and 2 share a worker
    reply = await farm.step(sessions[0], 1, mischief)
    assert (reply.status_code, slug(reply)) == (502, "worker-lost")
    assert reply.json()["failure"]["turn"] == 1
    assert "reward" not in reply.json()
    assert reply.json()["retryable"] is False
    assert (await farm.step(sessions[0], 1, mischief)).content == reply.content
    neighbour = await farm.view(sessions[2])
    assert (neighbour["state"], neighbour["failure"]["kind"]) == ("failed", "worker-lost")
    late = await farm.step(sessions[2], 1, "hello")
    assert (slug(late), late.json()["failure"]["kind"]) == ("session-failed", "worker-lost")
    for session in (sessions[1], sessions[3]):
        assert (await farm.step(session, 1, "hello")).status_code == 200
    await farm.mended()
    health = await farm.health()
    assert health["workers"] == {"alive": 4, "restarts": 1}
    assert health["finished"]["failed"] == 2
    assert health["sessions"]["active"] == 2
    assert (await farm.step(await farm.open(), 1, "hello")).status_code == 200


async def test_a_step_past_its_deadline_kills_its_worker(farm: Farm):
    guilty, other, neighbour, waiting = [await farm.open() for _ in range(4)]
    hanging = asyncio.create_task(farm.step(guilty, 1, "hang"))
    await asyncio.sleep(0.1)
    queued = asyncio.create_task(farm.step(neighbour, 1, "hello"))
    assert (await farm.step(other, 1, "hello")).status_code == 200  # others do not wait
    reply, innocent = await asyncio.gather(hanging, queued)
    assert (reply.status_code, slug(reply)) == (504, "step-timeout")
    assert reply.json()["failure"] == {"kind": "step-timeout", "turn": 1, "message": "no answer within 0.5 s"}
    assert (innocent.status_code, slug(innocent)) == (502, "worker-lost")
    assert (await farm.step(waiting, 1, "hello")).status_code == 200
    await farm.mended()
    assert (await farm.health())["workers"]["restarts"] == 1


async def test_closing_a_session_with_a_hanging_step_frees_it_at_once(farm: Farm):
    session = await farm.open()
    hanging = asyncio.create_task(farm.step(session, 1, "hang"))
    await asyncio.sleep(0.05)
    assert (await farm.http.delete(f"/sessions/{session}")).json()["outcome"] == "cancelled"
    assert slug(await hanging) == "session-closed"
    assert (await farm.health())["sessions"]["active"] == 0


async def test_a_worker_killed_while_idle_fails_its_sessions_at_once(farm: Farm):
    session = await farm.open()
    home = int((await farm.step(session, 1, "pid")).json()["observation"])
    os.kill(home, signal.SIGKILL)
    async with asyncio.timeout(5):
        while (await farm.view(session))["state"] != "failed":  # noqa: ASYNC110 - what the test is about
            await asyncio.sleep(0.01)
    assert (await farm.step(session, 1, "pid")).json()["observation"] == str(home)  # a completed turn
    assert slug(await farm.step(session, 2, "hello")) == "session-failed"
    await farm.mended()


async def test_a_full_queue_is_overload_and_nothing_was_started():
    app = create_app(WORLDS, settings=ServerSettings(workers=1, max_queue=1, step_deadline_s=1))
    service = service_of(app)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        farm = Farm(http, service)
        one, two = await farm.open(), await farm.open()
        hanging = asyncio.create_task(farm.step(one, 1, "hang"))
        await asyncio.sleep(0.05)
        reply = await farm.step(two, 1, "hello")
        assert (reply.status_code, slug(reply), reply.json()["retryable"]) == (503, "overloaded", True)
        assert reply.headers["retry-after"]
        assert (await farm.view(two))["turn"] == 0
        hanging.cancel()
    await service.close()


async def test_a_world_that_cannot_be_built_in_a_worker_is_told_at_the_start():
    service = service_of(create_app({"broken": Broken}, settings=ServerSettings(workers=1)))
    with pytest.raises(WorkerStartFailed, match="the data of this world is missing"):
        await service.start()
    await service.close()


async def test_what_a_world_loads_is_in_memory_once():
    app = create_app({"heavy": Heavy}, settings=ServerSettings(workers=3))
    service = service_of(app)
    await service.start()
    try:
        pool = service.pools["heavy"]
        held = [await worker.check_memory() for worker in pool._workers.values()]
        assert len(held) == 3
        assert max(held) < 32 << 20, held  # the 64 MiB would show
    finally:
        await service.close()


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])


async def test_a_world_with_threads_gets_processes_that_loaded_for_themselves():
    app = create_app({"threaded": Threaded}, settings=ServerSettings(workers=2))
    service = service_of(app)
    await service.start()
    try:
        assert {parent(pid) for pid in service.pools["threaded"].pids} == {os.getpid()}
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            farm = Farm(http, service)
            session = await farm.open("threaded")
            assert (await farm.step(session, 1, "hello")).json()["observation"] == "1: hello"
            os.kill(service.pools["threaded"].pids[0], signal.SIGKILL)
            while not service.pools["threaded"].restarts["died"]:  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.01)
            await farm.mended()
            assert (await farm.step(await farm.open("threaded"), 1, "hello")).status_code == 200
    finally:
        await service.close()


async def test_a_step_that_needs_more_memory_than_a_worker_may_have_fails_its_session_only():
    settings = ServerSettings(workers=1, worker_memory_bytes=64 << 20)
    app = create_app({"mischief": Mischief}, settings=settings)
    service = service_of(app)
    await service.start()
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        farm = Farm(http, service)
        greedy, modest = await farm.open(max_turns=100), await farm.open()
        replies = [await farm.step(greedy, turn, "eat") for turn in range(1, 9)]
        assert [reply.status_code for reply in replies[:2]] == [200, 200]
        assert replies[-1].status_code == 409
        assert (await farm.view(greedy))["failure"]["kind"] in ("internal", "worker-lost")
        assert (await farm.health())["workers"]["alive"] == 1
        assert (await farm.step(modest, 1, "hello")).status_code == 200
    await service.close()


async def test_a_worker_that_holds_too_much_is_replaced(monkeypatch: pytest.MonkeyPatch):
    app = create_app(WORLDS, settings=ServerSettings(workers=1))
    service = service_of(app)
    await service.start()
    pool = service.pools["mischief"]
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
        farm = Farm(http, service)
        session = await farm.open()
        monkeypatch.setattr("agentgym_server.workers.fork_server.Child.private_bytes", lambda _: 3 << 30)
        assert await pool._workers[0].check_memory() == 3 << 30
        monkeypatch.undo()
        view = await farm.view(session)
        assert (view["state"], view["failure"]["kind"]) == ("failed", "worker-lost")
        await farm.mended()
        assert pool.restarts == {"memory": 1}
    await service.close()


async def test_what_a_lost_worker_still_says_is_ignored():
    times = PoolTimes(Histogram(), Histogram())
    worker = Worker(cast("Any", None), WorkerLimits(), times, lambda key, fault: None)
    worker.lose("worker-lost", "the server stopped", "stopped")
    worker._on_message({"ready": True})  # pyright: ignore[reportPrivateUsage] - as if read before the cut
    assert not worker.up


async def test_an_episode_whose_worker_dies_before_it_begins_begins_in_another(farm: Farm):
    first = farm.pool._least_loaded()
    os.kill(first.pid or 0, signal.SIGKILL)
    session = await farm.open()  # the server has not noticed yet
    assert (await farm.step(session, 1, "hello")).status_code == 200
