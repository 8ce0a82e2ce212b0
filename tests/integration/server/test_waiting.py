"""Environments that wait on endpoints: their coroutines run together and within bounds, on the loop and in a
worker.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from support.server.environments import Choosy, Gathering, LoopChoosy, LoopGathering

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.service import Service
from agentgym_server.workers.waiting import WaitLimit

WORLDS = {"gathering": Gathering, "loop-gathering": LoopGathering}
BOTH = pytest.mark.parametrize("env", list(WORLDS))


class Hall:
    """A served application."""

    def __init__(self, http: httpx.AsyncClient, service: Service) -> None:
        self.http, self.service = http, service

    async def open(self, env: str) -> str:
        reply = await self.http.post(f"/envs/{env}/sessions", json={"task_id": "train/0"})
        assert reply.status_code == 201, reply.text
        return reply.json()["session_id"]

    async def step(self, session: str, action: str, turn: int = 1) -> httpx.Response:
        return await self.http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})

    def later(self, session: str, action: str) -> "asyncio.Task[httpx.Response]":
        return asyncio.create_task(self.step(session, action))

    async def until(self, env: str, waiting: int) -> None:
        """Return once this many coroutines are under way."""
        line = f'agentevol_waiting_operations{{env="{env}"}} {waiting}.0'
        async with asyncio.timeout(10):
            while line not in (await self.http.get("/metrics")).text:  # noqa: ASYNC110 - a metric has no event
                await asyncio.sleep(0)


@asynccontextmanager
async def hall(env: str, **settings: Any) -> AsyncIterator[Hall]:
    LoopGathering.go, LoopGathering.inside = None, 0
    workers = 1 if env == "gathering" else None
    app = create_app({env: WORLDS[env]}, settings=ServerSettings(workers=workers, **settings))
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield Hall(http, service)
    await service.close()


@pytest.fixture
async def calm(env: str) -> AsyncIterator[Hall]:
    async with hall(env, max_queue=4) as one:
        yield one


@pytest.fixture
async def hasty(env: str) -> AsyncIterator[Hall]:
    async with hall(env, step_deadline_s=0.3) as one:
        yield one


@BOTH
async def test_coroutines_of_one_process_run_together_and_plain_steps_pass_them(calm: Hall, env: str):
    one, two, three = [await calm.open(env) for _ in range(3)]
    waiting = [calm.later(session, "wait") for session in (one, two)]
    await calm.until(env, 2)
    assert (await calm.step(three, "count")).json()["observation"] == "2"
    assert (await calm.step(three, "go", 2)).json()["observation"] == "go"  # no wait ends without it
    assert [(await reply).json()["observation"] for reply in waiting] == ["went", "went"]
    await calm.until(env, 0)


@BOTH
async def test_more_than_max_waiting_queue_and_more_than_max_queue_are_refused(calm: Hall, env: str):
    sessions = [await calm.open(env) for _ in range(6)]
    waiting = [calm.later(session, "wait") for session in sessions[:4]]
    await calm.until(env, 4)
    refused = await calm.step(sessions[4], "wait")
    assert (refused.status_code, refused.json()["type"]) == (503, "urn:agentevol:problem:overloaded")
    assert LoopGathering.max_waiting == 2
    if env == "loop-gathering":
        assert (LoopGathering.inside, calm.service.waiting(env)) == (2, 4)
        for rest in (4, 2):
            await calm.until(env, rest)
            while LoopGathering.go is None:  # noqa: ASYNC110 - set by a coroutine that is let in
                await asyncio.sleep(0)
            LoopGathering.go.set()
            LoopGathering.go = None
        assert {(await reply).json()["observation"] for reply in waiting} == {"went"}


@BOTH
async def test_a_coroutine_past_its_deadline_is_cancelled_and_costs_its_own_episode(hasty: Hall, env: str):
    one, two = await hasty.open(env), await hasty.open(env)
    late = await hasty.step(one, "wait")
    assert (late.status_code, late.json()["failure"]) == (
        504,
        {"kind": "step-timeout", "turn": 1, "message": "no answer within 0.3 s"},
    )
    assert (await hasty.step(two, "count")).json()["observation"] == "0"
    assert (await hasty.http.get("/health")).json()["workers"]["restarts"] == 0


@BOTH
async def test_closing_a_session_cancels_its_coroutine(calm: Hall, env: str):
    one, two = await calm.open(env), await calm.open(env)
    waiting = calm.later(one, "wait")
    await calm.until(env, 1)
    assert (await calm.http.delete(f"/sessions/{one}")).json()["outcome"] == "cancelled"
    assert (await waiting).json()["type"] == "urn:agentevol:problem:session-closed"
    await calm.until(env, 0)
    assert (await calm.step(two, "count")).json()["observation"] == "0"


@pytest.mark.parametrize("env", ["gathering"])
async def test_a_worker_whose_coroutine_blocks_is_killed(hasty: Hall, env: str):
    stuck = await hasty.open(env)
    reply = await hasty.step(stuck, "stick")
    assert (reply.status_code, reply.json()["failure"]["kind"]) == (502, "worker-lost")


async def test_the_time_outs_of_an_environment_may_take_longer_than_a_step_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []
    run = WaitLimit.run

    async def noted(self: WaitLimit, work: Awaitable[Any], deadline_s: float) -> Any:
        limits.append(deadline_s)
        return await run(self, work, deadline_s)

    monkeypatch.setattr(WaitLimit, "run", noted)
    for waits_s in (0.0, 90.0):
        monkeypatch.setattr(LoopGathering, "waits_s", waits_s)
        async with hall("loop-gathering", step_deadline_s=30) as one:
            waiting = one.later(await one.open("loop-gathering"), "wait")
            await one.until("loop-gathering", 1)
            await one.step(await one.open("loop-gathering"), "go")
            assert (await waiting).json()["observation"] == "went"
    assert limits == [30.0, 90.0]


@pytest.mark.parametrize("world", [Choosy, LoopChoosy], ids=lambda world: world.name)
async def test_a_task_that_an_option_forbids_is_refused_with_the_option(world: type[Choosy]) -> None:
    app = create_app({"choosy": world}, settings=ServerSettings(workers=1 if world.blocking else None))
    service = service_of(app)
    await service.start()
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        begun = await http.post("/envs/choosy/sessions", json={"task_id": "train/0"})
        listed = await http.get("/envs/choosy/tasks", params={"split": "test"})
        health = (await http.get("/health")).json()
    await service.close()
    assert begun.status_code == listed.status_code == 501
    assert begun.json() == {
        "type": "urn:agentevol:problem:unsupported-operation",
        "title": "Unsupported operation",
        "status": 501,
        "detail": "train/0 needs partner_model=NAME",
        "instance": "/envs/choosy/sessions",
        "env": "choosy",
        "task_id": "train/0",
        "retryable": False,
    }
    assert listed.json()["detail"] == "choosy needs partner_model=NAME for the split 'test'"
    assert health["sessions"]["active"] == 0  # its slot is free again
