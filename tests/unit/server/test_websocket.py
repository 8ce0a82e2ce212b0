"""The WebSocket lane: frames, ids, order, limits, and one session table with REST."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from support.server.environments import Echo, Slow
from support.server.local_socket import LocalSocket

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of

WORLDS = {"echo": Echo, "slow": Slow}


class Socket(LocalSocket):
    """One WebSocket to the lane of an application in this process."""

    def __init__(
        self, app: Any, headers: dict[str, str] | None = None, subprotocols: tuple[str, ...] = ()
    ) -> None:
        super().__init__(app, "/ws", headers, subprotocols)

    async def operate(self, op: str, **members: Any) -> dict[str, Any]:
        return await self.ask({"id": "1", "op": op, **members})

    async def open(self, env: str = "echo", **members: Any) -> str:
        reply = await self.operate("create", env=env, task_id="train/0", **members)
        assert (reply["ok"], reply["status"]) == (True, 201), reply
        return reply["result"]["session_id"]


def app(**settings: Any) -> Any:
    return create_app(WORLDS, settings=ServerSettings(**settings))


@pytest.fixture
async def line() -> AsyncIterator[Socket]:
    async with Socket(app()) as line:
        yield line


def slug(reply: dict[str, Any]) -> str:
    assert reply["ok"] is False
    assert reply["status"] == reply["problem"]["status"]
    return reply["problem"]["type"].removeprefix("urn:agentevol:problem:")


async def test_an_episode_over_the_lane_is_that_of_rest(line: Socket):
    session = await line.open(seed=3)
    first = await line.operate("step", session_id=session, turn=1, action="hello")
    assert (first["id"], first["ok"], first["status"]) == ("1", True, 200)
    lease = first["result"].pop("lease")
    assert first["result"] == {
        "session_id": session,
        "turn": 1,
        "observation": "1: hello",
        "reward": 0.125,
        "total_reward": 0.125,
        "terminated": False,
        "truncated": False,
        "state": "open",
        "info": {"available_actions": ["say", "stop"]},
    }
    assert lease["ttl_s"] == 600
    last = await line.operate("step", session_id=session, turn=2, action="stop")
    assert (last["result"]["terminated"], last["result"]["total_reward"]) == (True, 1.125)
    closed = await line.operate("delete", session_id=session)
    assert closed["result"] == {"session_id": session, "state": "closed", "outcome": "terminated"}


async def test_every_operation_is_there(line: Socket):
    session = await line.open(labels={"run": "r"}, idempotency_key="k", wait_s=1)
    again = await line.open(labels={"run": "r"}, idempotency_key="k", wait_s=1)
    assert session == again
    assert (await line.operate("health"))["result"]["sessions"]["active"] == 1
    assert [entry["env"] for entry in (await line.operate("envs"))["result"]["envs"]] == ["echo", "slow"]
    assert (await line.operate("schema", env="echo"))["result"]["env"] == "echo"
    assert (await line.operate("tasks", env="echo", split="test", limit=1))["result"]["total"] == 3
    fork = await line.operate("fork", session_id=session)
    assert (fork["status"], fork["result"]["parent"]) == (201, {"session_id": session, "turn": 0})
    assert (await line.operate("lease", session_id=session, lease_ttl_s=5))["result"]["lease"]["ttl_s"] == 5
    assert (await line.operate("get", session_id=session, history=True))["result"]["history"] == []
    assert slug(await line.operate("get", session_id=session, history="yes")) == "validation"


async def test_a_step_that_is_repeated_says_so(line: Socket):
    session = await line.open()
    first = await line.operate("step", session_id=session, turn=1, action="a")
    second = await line.operate("step", session_id=session, turn=1, action="a")
    assert "replay" not in first
    assert second == {**first, "replay": True}
    assert slug(await line.operate("step", session_id=session, turn=1, action="b")) == "action-mismatch"
    conflict = await line.operate("step", session_id=session, turn=9, action="b")
    assert (conflict["status"], conflict["problem"]["expected_turn"], conflict["problem"]["given_turn"]) == (
        409,
        2,
        9,
    )


async def test_replies_come_in_order_of_completion(line: Socket):
    slow = await line.open("slow")
    quick = await line.open()
    line.say({"id": "slow", "op": "step", "session_id": slow, "turn": 1, "action": "0.2"})
    line.say({"id": "quick", "op": "step", "session_id": quick, "turn": 1, "action": "a"})
    assert [(await line.hear())["id"], (await line.hear())["id"]] == ["quick", "slow"]


@pytest.mark.parametrize(
    "frame",
    ["", "{", "[]", "5", '"x"', "{}", '{"id": 5}', '{"id": ""}', '{"id": null}', f'{{"id": "{"x" * 65}"}}'],
)
async def test_a_frame_without_a_usable_id_is_told_and_the_connection_stays(line: Socket, frame: str):
    line.say(frame)
    reply = await line.hear()
    assert (reply["id"], reply["status"], slug(reply)) == (None, 400, "invalid-json")
    assert (await line.operate("health"))["ok"] is True


async def test_an_unknown_operation_or_member_is_refused(line: Socket):
    assert slug(await line.operate("dance")) == "validation"
    assert slug(await line.operate("health", loud=True)) == "validation"
    assert slug(await line.operate("batch", items=[], more=1)) == "validation"
    assert slug(await line.operate("step", session_id="s_nobody")) == "session-not-found"


async def test_an_id_is_free_again_once_it_was_answered(line: Socket):
    session = await line.open("slow")
    line.say({"id": "a", "op": "step", "session_id": session, "turn": 1, "action": "0.2"})
    line.say({"id": "a", "op": "health"})
    assert slug(await line.hear()) == "invalid-json"
    assert (await line.hear())["result"]["observation"] == "step 1"
    line.say({"id": "a", "op": "health"})
    assert (await line.hear())["ok"] is True


async def test_too_many_operations_at_once_are_refused_and_not_begun():
    async with Socket(app(max_in_flight=2)) as line:
        sessions = [await line.open("slow") for _ in range(3)]
        for index, session in enumerate(sessions):
            line.say({"id": str(index), "op": "step", "session_id": session, "turn": 1, "action": "0.1"})
        assert slug(await line.hear()) == "too-many-in-flight"
        assert {(await line.hear())["id"], (await line.hear())["id"]} == {"0", "1"}
        assert (await line.operate("step", session_id=sessions[2], turn=1, action="0"))["ok"] is True


async def test_a_batch_keeps_the_order_of_a_session_and_of_its_results(line: Socket):
    one, two = await line.open(), await line.open("slow")
    items = [
        {"op": "step", "session_id": two, "turn": 1, "action": "0.05"},
        {"op": "step", "session_id": one, "turn": 1, "action": "a"},
        {"op": "step", "session_id": two, "turn": 2, "action": "0"},
        {"op": "step", "session_id": one, "turn": 3, "action": "c"},
        {"op": "step", "session_id": one, "turn": 2, "action": "b"},
        {"op": "batch", "items": []},
        7,
    ]
    reply = await line.operate("batch", items=items)
    results = reply["result"]["results"]
    assert [result["status"] for result in results] == [200, 200, 200, 409, 200, 422, 422]
    assert [results[0]["result"]["observation"], results[2]["result"]["observation"]] == ["step 1", "step 2"]
    assert results[4]["result"]["observation"] == "2: a b"


async def test_bytes_close_the_connection_and_sessions_live_on():
    application = app()
    async with Socket(application) as line:
        session = await line.open()
        line.say(b"{}")
        assert await line.closing() == 1003
    async with Socket(application) as line:
        assert (await line.operate("step", session_id=session, turn=1, action="a"))["result"]["turn"] == 1


async def test_a_dropped_connection_loses_no_reply():
    application = app()
    async with Socket(application) as line:
        session = await line.open("slow")
        line.say({"id": "a", "op": "step", "session_id": session, "turn": 1, "action": "0.2"})
        await asyncio.sleep(0.05)
    async with Socket(application) as line:
        reply = await line.operate("step", session_id=session, turn=1, action="0.2")
        assert (reply["result"]["observation"], reply["replay"]) == ("step 1", True)
        assert (await line.operate("get", session_id=session))["result"]["steps_executed"] == 1


async def test_the_subprotocol_is_named_where_it_is_asked_for():
    async with Socket(app(), subprotocols=("other", "agentevol.v1")) as line:
        assert line.answer == {"type": "websocket.accept", "subprotocol": "agentevol.v1"}
    async with Socket(app()) as line:
        assert line.answer["subprotocol"] is None


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"authorization": "Bearer wrong"}, 401), ({"host": "evil.example"}, 403)],
)
async def test_a_stranger_is_refused_before_the_upgrade(headers: dict[str, str], status: int):
    async with Socket(app(token="secret"), headers) as line:
        assert (line.answer["type"], line.answer["status"]) == ("websocket.http.response.start", status)


async def test_an_agent_may_step_and_nothing_else():
    application = app(token="admin", agent_token="agent")
    async with Socket(application, {"authorization": "Bearer admin"}) as line:
        session = await line.open()
    async with Socket(application, {"authorization": "Bearer agent"}) as line:
        step = {"op": "step", "session_id": session, "turn": 1, "action": "a"}
        assert slug(await line.operate("create", env="echo", task_id="train/0")) == "forbidden-scope"
        assert slug(await line.operate("get", session_id=session)) == "forbidden-scope"
        mixed = await line.operate("batch", items=[step, {"op": "delete", "session_id": session}])
        assert [result["status"] for result in mixed["result"]["results"]] == [200, 403]


async def test_frames_count_against_the_rate_of_their_token():
    async with Socket(app(rate_limit_per_s=1, rate_burst=3)) as line:  # the upgrade took one
        assert [(await line.operate("health"))["status"] for _ in range(3)] == [200, 200, 429]
    async with Socket(app(rate_limit_per_s=1, rate_burst=5)) as line:
        assert slug(await line.operate("batch", items=[{"op": "health"}] * 6)) == "rate-limited"


async def test_open_connections_are_counted():
    application = app()
    metrics = service_of(application).metrics
    async with Socket(application), Socket(application):
        assert metrics.connections == 2
    assert metrics.connections == 0
