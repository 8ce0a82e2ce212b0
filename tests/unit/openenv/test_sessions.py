"""OpenEnv's connections and the sessions behind them: failures, slots, leaving, attaching."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from support.clock import Clock
from support.server.environments import Broken, CheapMischief, Echo, Mischief, Slow
from support.server.local_socket import LocalSocket
from support.server.openenv import client, code, reset, step, v1_session

from agentgym_envs.core import Observation, Task
from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.dialects.openenv.models import ResetOptions
from agentgym_server.dialects.openenv.sessions import OpenEnvSessions
from agentgym_server.service import Service

WORLDS = {"echo": Echo, "slow": Slow, "mischief": CheapMischief}


@pytest.fixture
def time() -> Clock:
    return Clock()


@pytest.fixture
def app(time: Clock) -> FastAPI:
    return create_app(WORLDS, settings=ServerSettings(max_sessions=3), clock=time)


async def test_a_world_that_raises_is_a_failure_without_a_reward(app: FastAPI, service: Service):
    async with LocalSocket(app, "/openenv/mischief/ws") as socket:
        await reset(socket)
        reply = await step(socket, "raise")
        assert code(reply) == "EXECUTION_ERROR"
        failure = {"kind": "internal", "turn": 1, "message": "the environment broke"}
        assert reply["data"]["failure"] == failure
        assert "secret" not in json.dumps(reply)
        again = await step(socket, "a")
        assert (code(again), again["data"]["failure"]) == ("EXECUTION_ERROR", failure)
        assert (await reset(socket))["reward"] == 0.0
    assert service.registry.totals() == {"terminated": 0, "truncated": 0, "failed": 1, "cancelled": 1}


@pytest.mark.parametrize(("action", "kind"), [("exit", "worker-lost"), ("hang", "step-timeout")])
async def test_a_lost_or_late_worker_is_a_failure_and_the_connection_stays(action: str, kind: str):
    app = create_app({"mischief": Mischief}, settings=ServerSettings(workers=1, step_deadline_s=0.5))
    try:
        async with LocalSocket(app, "/openenv/mischief/ws") as socket:
            await reset(socket)
            reply = await step(socket, action)
            assert code(reply) == "EXECUTION_ERROR"
            assert reply["data"]["failure"]["kind"] == kind
            assert (await socket.ask({"type": "state"}))["data"]["turn"] == 0
    finally:
        await service_of(app).close()


async def test_a_world_that_cannot_be_built_is_told_at_connect():
    app = create_app({"broken": Broken}, settings=ServerSettings(workers=1))
    try:
        async with LocalSocket(app, "/openenv/broken/ws") as socket:
            reply = await socket.hear()
            assert code(reply) == "FACTORY_ERROR"
            assert reply["data"]["factory_name"] == "Broken"
            assert await socket.closing() == 1000
        assert service_of(app).registry.capacity.taken == 0
    finally:
        await service_of(app).close()


async def test_a_full_server_says_so_at_connect(app: FastAPI, service: Service):
    async with (
        LocalSocket(app, "/openenv/echo/ws"),
        LocalSocket(app, "/openenv/slow/ws"),
        LocalSocket(app, "/openenv/echo/ws"),
        LocalSocket(app, "/openenv/echo/ws") as fourth,
    ):
        assert await fourth.hear() == {
            "type": "error",
            "data": {
                "message": "3 of 3 sessions are in use",
                "code": "CAPACITY_REACHED",
                "active_sessions": 3,
                "max_sessions": 3,
            },
        }
        assert await fourth.closing() == 1000
    async with LocalSocket(app, "/openenv/echo/ws") as again:
        await reset(again)
    assert (service.registry.capacity.taken, service.metrics.connections) == (0, 0)


async def test_a_connection_keeps_its_slot_from_episode_to_episode(app: FastAPI, http: httpx.AsyncClient):
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        others = [await v1_session(http) for _ in range(2)]
        waiting = asyncio.create_task(
            http.post("/envs/echo/sessions", json={"task_id": "train/0"}, headers={"prefer": "wait=9"})
        )
        for _ in range(3):
            await reset(socket)
            await step(socket, "stop")
            assert not waiting.done()
    assert (await waiting).status_code == 201
    for session in (*others, waiting.result().json()["session_id"]):
        await http.delete(f"/sessions/{session}")


async def test_leaving_closes_the_session_of_the_socket(app: FastAPI, http: httpx.AsyncClient):
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        session = (await reset(socket))["metadata"]["session_id"]
        assert (await http.get(f"/sessions/{session}")).json()["state"] == "open"
    view = (await http.get(f"/sessions/{session}")).json()
    assert (view["state"], view["outcome"], view["reason"]) == ("closed", "cancelled", "closed")


async def test_a_reset_closes_the_episode_before(app: FastAPI, http: httpx.AsyncClient):
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        sessions = [(await reset(socket))["metadata"]["session_id"] for _ in range(2)]
        states = [(await http.get(f"/sessions/{session}")).json()["state"] for session in sessions]
        assert states == ["closed", "open"]


async def test_a_session_may_be_driven_by_two_lanes_in_turn(app: FastAPI, http: httpx.AsyncClient):
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        session = (await reset(socket))["metadata"]["session_id"]
        assert (await step(socket, "a"))["data"]["metadata"]["turn"] == 1
        await http.post(f"/sessions/{session}/steps", json={"turn": 2, "action": "b"})
        reply = await step(socket, "c")
        assert (reply["data"]["metadata"]["turn"], reply["data"]["observation"]["text"]) == (3, "3: a b c")


async def test_leaving_during_a_step_frees_the_slot_at_once(app: FastAPI, service: Service):
    async with LocalSocket(app, "/openenv/slow/ws") as socket:
        await reset(socket)
        socket.say({"type": "step", "data": {"text": "3600"}})
        await asyncio.sleep(0.05)
        assert service.registry.capacity.taken == 1
        await socket.leave()
        assert (service.registry.capacity.taken, service.registry.active) == (0, 0)
        assert service.registry.totals()["cancelled"] == 1


async def test_leaving_during_a_reset_leaves_nothing_behind(service: Service, app: FastAPI):
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        socket.say({"type": "reset", "data": {}})
        await socket.leave()
    await asyncio.sleep(0.2)
    assert (service.registry.capacity.taken, service.registry.active) == (0, 0)


async def test_frames_sent_early_are_answered_in_order(app: FastAPI):
    async with LocalSocket(app, "/openenv/slow/ws") as socket:
        await reset(socket)
        for seconds in ("0.05", "0.01", "0"):
            socket.say({"type": "step", "data": {"text": seconds}})
        socket.say({"type": "state"})
        texts = [(await socket.hear())["data"]["observation"]["text"] for _ in range(3)]
        assert texts == ["step 1", "step 2", "step 3"]
        assert (await socket.hear())["data"]["step_count"] == 3


async def test_many_frames_sent_early_wait_for_their_turn(app: FastAPI):
    async with LocalSocket(app, "/openenv/slow/ws") as socket:
        await reset(socket)
        socket.say({"type": "step", "data": {"text": "0.05"}})
        for _ in range(200):
            socket.say({"type": "state"})
        await socket.hear()
        counts = [(await socket.hear())["data"]["step_count"] for _ in range(200)]
        assert counts == [1] * 200


async def test_a_binary_frame_ends_the_connection(echo: LocalSocket, service: Service):
    reply = await echo.ask(b'{"type":"state"}')
    assert reply["data"] == {"message": "frames must be text", "code": "SESSION_ERROR"}
    assert await echo.closing() == 1003
    assert service.registry.capacity.taken == 0


@pytest.mark.parametrize("frame", ["[]", "5", "null", '"state"', "true"])
async def test_json_that_is_no_object_ends_the_connection(echo: LocalSocket, frame: str):
    reply = await echo.ask(frame)
    assert reply["data"] == {"message": "a frame must be a JSON object", "code": "SESSION_ERROR"}
    assert await echo.closing() == 1000


@pytest.mark.parametrize("frame", [{"type": "state"}, {"type": "step", "data": {"text": "a"}}])
async def test_a_session_that_is_lost_ends_the_connection(
    echo: LocalSocket, time: Clock, frame: dict[str, Any]
):
    await reset(echo)
    time.now += 3601
    reply = await echo.ask(frame)
    assert reply["data"] == {"message": "the session is expired", "code": "SESSION_ERROR"}
    assert await echo.closing() == 1000


async def test_a_session_closed_by_another_lane_is_lost(app: FastAPI, http: httpx.AsyncClient):
    async with LocalSocket(app, "/openenv/slow/ws") as socket:
        session = (await reset(socket))["metadata"]["session_id"]
        socket.say({"type": "step", "data": {"text": "3600"}})
        await asyncio.sleep(0.05)
        await http.delete(f"/sessions/{session}")
        assert code(await socket.hear()) == "SESSION_ERROR"
        assert await socket.closing() == 1000


async def test_every_frame_counts_for_the_rate_limit():
    app = create_app({"echo": Echo}, settings=ServerSettings(rate_limit_per_s=0.001, rate_burst=3))
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        assert [(await socket.ask({"type": "state"}))["type"] for _ in range(3)] == [
            "state",
            "state",
            "error",
        ]


async def test_a_draining_server_begins_no_episodes(echo: LocalSocket, app: FastAPI, service: Service):
    await reset(echo)
    service.drain()
    assert code(await echo.ask({"type": "reset"})) == "EXECUTION_ERROR"
    assert (await step(echo, "a"))["data"]["reward"] == 0.125
    async with LocalSocket(app, "/openenv/echo/ws") as late:
        assert (await late.hear())["data"] == {
            "message": "the server is about to stop",
            "code": "SESSION_ERROR",
        }


async def test_a_token_of_the_trainer_is_needed():
    settings = ServerSettings(token="admin", trainer_token="trainer", agent_token="agent")
    app = create_app({"echo": Echo}, settings=settings)
    statuses = {"": 401, "wrong": 401, "agent": 403}
    for token, status in statuses.items():
        async with LocalSocket(app, "/openenv/echo/ws", {"authorization": f"Bearer {token}"}) as socket:
            assert (socket.answer["type"], socket.answer["status"]) == (
                "websocket.http.response.start",
                status,
            )
    async with LocalSocket(app, "/openenv/echo/ws", {"authorization": "Bearer trainer"}) as socket:
        assert (await reset(socket))["reward"] == 0.0
    async with client(app) as http:
        assert (await http.get("/openenv/echo/health")).status_code == 401


async def test_a_socket_attaches_to_a_session_and_leaves_it_open(app: FastAPI, http: httpx.AsyncClient):
    session = await v1_session(http)
    await http.post(f"/sessions/{session}/steps", json={"turn": 1, "action": "a"})
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
        assert (await socket.ask({"type": "state"}))["data"]["episode_id"] == session
        assert (await step(socket, "b"))["data"]["observation"]["text"] == "2: a b"
    assert (await http.get(f"/sessions/{session}")).json()["turn"] == 2
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
        assert (await step(socket, "c"))["data"]["observation"]["text"] == "3: a b c"


async def test_a_session_has_at_most_one_socket(app: FastAPI, http: httpx.AsyncClient):
    session = await v1_session(http)
    path = f"/openenv/echo/ws?session_id={session}"
    async with LocalSocket(app, path) as first, LocalSocket(app, path) as second:
        reply = await second.hear()
        text = f"Session {session} already has an attached WebSocket"
        assert reply["data"] == {"message": text, "code": "SESSION_ERROR"}
        assert await second.closing() == 1000
        assert (await step(first, "a"))["data"]["reward"] == 0.125


async def test_the_session_of_a_socket_cannot_be_attached_to(app: FastAPI, echo: LocalSocket):
    session = (await reset(echo))["metadata"]["session_id"]
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as second:
        assert code(await second.hear()) == "SESSION_ERROR"
    assert (await step(echo, "a"))["data"]["reward"] == 0.125


@pytest.mark.parametrize("name", ["nope", "s_0000000000000000", "%00", "../../x", "%ff%fe", "x" * 4000])
async def test_an_unknown_session_is_an_error(app: FastAPI, service: Service, name: str):
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={name}") as socket:
        reply = await socket.hear()
        assert code(reply) == "SESSION_ERROR"
        assert reply["data"]["message"].startswith("Unknown session_id: ")
        assert len(reply["data"]["message"]) < 300
        assert await socket.closing() == 1000
    assert service.registry.capacity.taken == 0


async def test_sessions_of_other_environments_and_closed_ones_are_unknown(
    app: FastAPI, http: httpx.AsyncClient
):
    other, closed = await v1_session(http, "slow"), await v1_session(http)
    await http.delete(f"/sessions/{closed}")
    for session in (other, closed):
        async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
            assert (await socket.hear())["data"]["message"] == f"Unknown session_id: {session}"


async def test_an_attached_session_keeps_its_name_and_its_slot_over_a_reset(
    app: FastAPI, http: httpx.AsyncClient, service: Service
):
    session = await v1_session(http)
    others = [await v1_session(http, "slow") for _ in range(2)]  # the server is full now
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
        heir = (await reset(socket, task_id="test/1", episode_id="e2"))["metadata"]["session_id"]
        assert heir != session
        assert service.registry.capacity.taken == 3
        await step(socket, "a")
    for name in (session, heir):
        async with LocalSocket(app, f"/openenv/echo/ws?session_id={name}") as socket:
            state = (await socket.ask({"type": "state"}))["data"]
            assert (state["episode_id"], state["task_id"], state["turn"]) == ("e2", "test/1", 1)
    for name in (heir, *others):
        await http.delete(f"/sessions/{name}")
    assert service.registry.capacity.taken == 0


async def test_an_attached_session_survives_a_reset_that_fails(
    app: FastAPI, http: httpx.AsyncClient, service: Service
):
    session = await v1_session(http)
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
        assert code(await socket.ask({"type": "reset", "data": {"task_id": "none"}})) == "EXECUTION_ERROR"
        assert (await step(socket, "a"))["data"]["observation"]["text"] == "1: a"
    await http.delete(f"/sessions/{session}")
    assert service.registry.capacity.taken == 0


async def test_an_attached_session_that_has_ended_needs_a_slot_again(
    app: FastAPI, http: httpx.AsyncClient, service: Service
):
    session = await v1_session(http)
    async with LocalSocket(app, f"/openenv/echo/ws?session_id={session}") as socket:
        await step(socket, "stop")
        others = [await v1_session(http) for _ in range(3)]
        reply = await socket.ask({"type": "reset"})
        assert code(reply) == "CAPACITY_REACHED"
        assert (reply["data"]["active_sessions"], reply["data"]["max_sessions"]) == (3, 3)
        await http.delete(f"/sessions/{others[0]}")
        assert (await reset(socket))["done"] is False
        assert service.registry.capacity.taken == 3


async def test_ids_of_sessions_that_are_gone_are_forgotten(service: Service):
    env_sessions = OpenEnvSessions(service)
    kept, _ = await env_sessions.begin("echo", ResetOptions())
    for _ in range(300):
        env_session, _ = await env_sessions.begin("echo", ResetOptions())
        env_session.close()
        await env_sessions.reset(kept, ResetOptions())
    assert len(env_sessions) <= 130
    assert kept.name is not None
    assert env_sessions.find("echo", kept.name) is kept


class Waking(Slow):
    """Takes a while to begin."""

    name = "waking"

    async def reset(self, task: Task, seed: int) -> Observation:
        await asyncio.sleep(0.05)
        return await super().reset(task, seed)


async def test_resets_at_one_time_leave_one_session_in_one_slot(http: httpx.AsyncClient, service: Service):
    session = await v1_session(http)
    body = {"session_id": session}
    replies = await asyncio.gather(*(http.post("/openenv/echo/reset", json=body) for _ in range(5)))
    assert [reply.status_code for reply in replies] == [200] * 5
    assert (service.registry.active, service.registry.capacity.taken) == (1, 1)


async def test_a_session_closed_while_it_is_reset_stays_closed():
    app = create_app({"waking": Waking})
    registry = service_of(app).registry
    async with client(app) as http:
        session = await v1_session(http, "waking")
        resetting = asyncio.create_task(http.post("/openenv/waking/reset", json={"session_id": session}))
        await asyncio.sleep(0.03)
        call = {"jsonrpc": "2.0", "method": "openenv/session/close", "params": {"session_id": session}}
        assert (await http.post("/openenv/waking/mcp", json=call)).json()["result"]["closed"] is True
        assert ((await resetting).status_code, resetting.result().json()["detail"]) == (
            410,
            "the session was closed",
        )
        assert (registry.active, registry.capacity.taken) == (0, 0)


async def test_a_socket_that_leaves_while_another_caller_resets_its_session_frees_everything():
    app = create_app({"waking": Waking})
    registry = service_of(app).registry
    async with client(app) as http:
        async with LocalSocket(app, "/openenv/waking/ws") as socket:
            session = (await reset(socket))["metadata"]["session_id"]
            resetting = asyncio.create_task(http.post("/openenv/waking/reset", json={"session_id": session}))
            await asyncio.sleep(0.03)
        assert (await resetting).status_code == 410
        assert (registry.active, registry.capacity.taken) == (0, 0)
