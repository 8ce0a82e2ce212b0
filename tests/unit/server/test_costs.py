"""Costs of turns over every lane: what a world reports arrives, and a bad cost is the world's failure."""

import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from support.server.environments import BAD_COSTS, CheapCostly, Costly
from support.server.local_socket import LocalSocket

from agentgym_client import EnvClient, ServerProblem
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of

pytestmark = pytest.mark.asyncio(loop_scope="module")  # one application for all: each starts a process

WORLDS = {"costly": Costly, "cheap": CheapCostly}
"""One plays in worker processes, one on the event loop."""
TOLD = {"harm": 0.25, "noise": None}


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def app() -> AsyncIterator[Any]:
    app = create_app(WORLDS, settings=ServerSettings(workers=1))
    service = service_of(app)
    await service.start()
    yield app
    await service.close()


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def http(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        yield http


async def begin(http: httpx.AsyncClient, env: str) -> str:
    reply = await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0"})
    return reply.json()["session_id"]


@pytest.mark.parametrize("env", WORLDS)
async def test_a_step_has_the_costs_of_its_action_and_none_where_there_are_none(
    http: httpx.AsyncClient, env: str
):
    session = await begin(http, env)
    first, last = [
        (await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})).json()
        for turn, action in ((1, "look"), (2, "stop"))
    ]
    assert first["costs"] == TOLD
    assert "costs" not in first["info"]  # info is what agents see
    assert "costs" not in last
    again = await http.post(f"/sessions/{session}/steps", json={"turn": 1, "action": "look"})
    assert again.json() == first
    history = (await http.get(f"/sessions/{session}", params={"history": "true"})).json()["history"]
    assert [row.get("costs") for row in history] == [TOLD, None]


@pytest.mark.parametrize("env", WORLDS)
async def test_a_batch_and_a_web_socket_have_the_same_costs(app: Any, http: httpx.AsyncClient, env: str):
    session = await begin(http, env)
    step = {"op": "step", "session_id": session, "turn": 1, "action": "look"}
    (result,) = (await http.post("/batch", json={"items": [step]})).json()["results"]
    assert result["result"]["costs"] == TOLD
    async with LocalSocket(app, "/ws", None, ()) as line:
        reply = await line.ask({"id": "1", **step, "turn": 2})
        assert reply["result"]["costs"] == TOLD
        reply = await line.ask({"id": "2", "op": "batch", "items": [{**step, "turn": 3}]})
        assert reply["result"]["results"][0]["result"]["costs"] == TOLD


@pytest.mark.parametrize("env", WORLDS)
async def test_the_client_reads_what_the_world_reported(app: Any, env: str):
    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as client:
        session = await client.open(env, "train/0")
        world = Costly()
        world.reset(world.task("train/0"), session.seed)
        for action in ("look", "stop"):
            assert await session.step(action) == world.step(action)


@pytest.mark.parametrize("env", WORLDS)
async def test_a_bad_cost_fails_its_episode_alone_and_the_log_has_a_line_of_it(
    app: Any, caplog: pytest.LogCaptureFixture, env: str
):
    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as client:
        healthy = await client.open(env, "train/0")
        for name, cost in BAD_COSTS.items():
            session = await client.open(env, "train/0")
            with caplog.at_level(logging.ERROR), pytest.raises(ServerProblem) as error:
                await session.step(name)
            assert (error.value.kind, error.value.failure) == ("internal", "internal")
            line = f"the environment's cost 'harm' is {cost!r}, not a finite number of at least 0"
            assert caplog.records[-1].getMessage().count(line) > 0
            assert (await healthy.step("look")).costs == TOLD
