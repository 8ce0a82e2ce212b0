"""The client in several seats of one episode, over REST and over the WebSocket."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import uvicorn
from support.server.environments import Duel

from agentgym_client import EnvClient, ServerProblem, Session
from agentgym_server import ServerSettings, create_app

# Shorter than a seat waits for its partner: the reply of a step is asked for again.
SETTINGS = ServerSettings(partner_wait_s=0.2)


@pytest.fixture(params=["rest", "websocket"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[EnvClient]:
    app = create_app({"duel": Duel}, settings=SETTINGS)
    if request.param == "rest":
        async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as one:
            yield one
        return
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    serving = asyncio.create_task(server.serve())
    async with asyncio.timeout(10):
        while not server.started:  # noqa: ASYNC110 - uvicorn tells nobody
            await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with EnvClient(f"http://127.0.0.1:{port}") as one:
        yield one
    server.should_exit = True
    await serving


async def play(session: Session, *actions: str) -> list[tuple[str, float]]:
    seen = [((await session.await_turn()).text, 0.0)]
    for action in actions:
        result = await session.step(action)
        seen.append((result.observation.text, result.reward))
    await session.close()
    return seen


async def test_two_seats_are_played_concurrently(client: EnvClient):
    left, right = await client.open_seats("duel", "train/0", seed=3)
    assert left.episode_id == right.episode_id
    assert [(one.seat, one.your_turn) for one in (left, right)] == [("left", True), ("right", False)]
    seen = await asyncio.gather(play(left, "a", "b", "stop"), play(right, "x", "y"))
    intro = "Say stop. This is episode 0. Seed 3."
    assert seen == [
        [(f"You are left. {intro}", 0.0), ("right: x", 0.125), ("right: y", 0.125), ("", 1.0)],
        [(f"You are right. {intro} / left: a", 0.0), ("left: b", 0.25), ("left: stop", 0.25)],
    ]
    assert (left.outcome, right.outcome, right.total_reward) == ("terminated", "terminated", 0.5)


async def test_a_partner_that_leaves_is_a_failure_for_those_who_wait(client: EnvClient):
    left, right = await client.open_seats("duel", "train/0")
    waiting = asyncio.create_task(right.await_turn())
    await asyncio.sleep(0)
    await left.close()
    with pytest.raises(ServerProblem) as failed:
        await waiting
    assert failed.value.failure == "partner"
    left, right = await client.open_seats("duel", "train/0")
    step = asyncio.create_task(left.step("a"))
    await right.await_turn()
    await right.close()
    with pytest.raises(ServerProblem) as failed:
        await step
    assert (failed.value.kind, failed.value.failure) == ("partner", "partner")


async def test_the_environment_names_its_seats(client: EnvClient):
    (info,) = await client.environments()
    assert info.seats == ("left", "right")
