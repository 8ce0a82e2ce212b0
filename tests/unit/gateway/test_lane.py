"""Many operations at once through the gateway: batches, the WebSocket lane, and WebSockets of dialects."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from support.server.gateway import BASE, Fixed, House, Machines, WebSocket, home, slug

from agentgym_server import ServerSettings
from agentgym_server.gateway.app import application
from agentgym_server.gateway.backends.upstream import Closed
from agentgym_server.gateway.gateway import Gateway


@pytest.fixture
async def house() -> AsyncIterator[House]:
    made = House()
    await made.look()
    yield made
    await made.gateway.close()


async def test_a_batch_is_split_and_comes_back_in_order(house: House) -> None:
    sessions = [await house.opened() for _ in range(2)]
    items: list[Any] = [
        {"op": "step", "session_id": sessions[0], "turn": 1, "action": "a"},
        {"op": "create", "env": "mischief", "task_id": "train/0"},
        {"op": "step", "session_id": sessions[1], "turn": 1, "action": "b"},
        {"op": "step", "session_id": sessions[0], "turn": 2, "action": "c"},
        {"op": "health"},
        {"op": "envs"},
        {"op": "schema", "env": "mischief"},
        {"op": "nonsense"},
        "junk",
        {"op": "step", "session_id": "s_AAAZxxxxxxxxxxxxxxxxxxxx", "turn": 1, "action": "x"},
        {"op": "create", "env": "nowhere", "task_id": "train/0"},
        {"op": "health", "more": 1},
        {"op": "batch", "items": []},
    ]
    results = (await house.http.post("/batch", json={"items": items})).json()["results"]
    assert [result["status"] for result in results] == [
        200,
        201,
        200,
        200,
        200,
        200,
        200,
        422,
        422,
        404,
        404,
        422,
        422,
    ]
    assert [results[place]["result"]["observation"] for place in (0, 2, 3)] == ["1: a", "1: b", "2: a c"]
    assert results[1]["result"]["env"] == results[6]["result"]["env"] == "mischief"
    assert results[4]["result"]["status"] == "healthy"
    assert [entry["env"] for entry in results[5]["result"]["envs"]] == ["echo", "mischief", "slow"]
    assert slug(results[9]["problem"]) == "session-not-found"


async def test_a_batch_passes_over_full_replicas_and_a_dead_server_costs_only_its_items(house: House) -> None:
    create = {"op": "create", "env": "echo", "task_id": "train/0"}
    results = (await house.http.post("/batch", json={"items": [create] * 5})).json()["results"]
    assert sorted(result["status"] for result in results) == [201, 201, 201, 201, 503]
    sessions = [result["result"]["session_id"] for result in results if result["ok"]]
    house.machines.kill("http://a")
    items = [{"op": "step", "session_id": session, "turn": 1, "action": "x"} for session in sessions]
    results = (await house.http.post("/batch", json={"items": items})).json()["results"]
    assert [result["status"] for result in results] == [
        502 if home(session) == "http://a" else 200 for session in sessions
    ]


@pytest.mark.parametrize(
    ("body", "status", "kind"),
    [
        ({"items": [{}] * 257}, 422, "validation"),
        ({"items": {}}, 422, "validation"),
        ({}, 422, "validation"),
        ({"items": [], "more": 1}, 422, "validation"),
    ],
)
async def test_what_is_no_batch_is_refused(house: House, body: Any, status: int, kind: str) -> None:
    reply = await house.http.post("/batch", json=body)
    assert (reply.status_code, slug(reply.json())) == (status, kind)


async def test_the_lane_carries_operations_to_every_server(house: House) -> None:
    socket = await house.dial()
    assert socket.subprotocol == "agentevol.v1"
    made = await socket.ask(id="a", op="create", env="echo", task_id="train/0")
    other = await socket.ask(id="b", op="create", env="mischief", task_id="train/0")
    assert (made["id"], made["status"], other["id"], other["status"]) == ("a", 201, "b", 201)
    for session in (made["result"]["session_id"], other["result"]["session_id"]):
        reply = await socket.ask(id='ü"', op="step", session_id=session, turn=1, action="hi")
        assert (reply["id"], reply["ok"], reply["result"]["observation"]) == ('ü"', True, "1: hi")
    session = made["result"]["session_id"]
    replay = await socket.ask(id="c", op="step", session_id=session, turn=1, action="hi")
    assert replay["replay"] is True
    assert (await house.http.get(f"/sessions/{session}")).json()["turn"] == 1
    assert (await socket.ask(id="d", op="health"))["result"]["created"] == 2
    assert (await socket.ask(id="e", op="nonsense"))["status"] == 422
    batch = await socket.ask(
        id="f",
        op="batch",
        items=[
            {"op": "step", "session_id": session, "turn": 2, "action": "x"},
            {"op": "get", "session_id": other["result"]["session_id"]},
        ],
    )
    assert [item["result"]["turn"] for item in batch["result"]["results"]] == [2, 1]
    dialled = [url for url, method, _ in house.machines.sent if method == "WS"]
    assert sorted(dialled) == ["http://a", "http://b", "http://m"]  # once each
    await socket.close()
    assert (await house.step(session, 3, "y")).status_code == 200


async def test_frames_of_one_session_keep_their_order(house: House) -> None:
    session = await house.opened()
    socket = await house.dial()
    for turn in range(1, 6):
        await socket.send(
            json.dumps({"id": str(turn), "op": "step", "session_id": session, "turn": turn, "action": "x"})
        )
    replies = [await socket.hear() for _ in range(5)]
    assert [reply["status"] for reply in replies] == [200] * 5
    await socket.close()


async def test_a_dead_server_fails_every_operation_in_flight_and_no_other(house: House) -> None:
    sessions = {home(session): session for session in [await house.opened("slow") for _ in range(2)]}
    socket = await house.dial()
    for name in ("a", "b"):
        frame = {"id": name, "op": "step", "session_id": sessions["http://a"], "turn": 1, "action": "30"}
        await socket.send(json.dumps(frame))
    frame = {"id": "c", "op": "step", "session_id": sessions["http://b"], "turn": 1, "action": "0.2"}
    await socket.send(json.dumps(frame))
    await asyncio.sleep(0.05)
    house.machines.kill("http://a")
    replies = {reply["id"]: reply for reply in [await socket.hear() for _ in range(3)]}
    assert [replies[name]["status"] for name in "abc"] == [502, 502, 200]
    assert replies["a"]["problem"]["failure"]["kind"] == "worker-lost"
    assert "reward" not in replies["a"]["problem"]
    await socket.close()


@pytest.mark.parametrize("server", ["http://a", "http://b"])
async def test_operations_that_wait_get_a_slot_of_any_replica(house: House, server: str) -> None:
    sessions = [await house.opened() for _ in range(4)]
    item = {"op": "create", "env": "echo", "task_id": "train/0", "wait_s": 30}
    socket = await house.dial()
    await socket.send(json.dumps({"id": "a", **item}))
    batch = asyncio.create_task(house.http.post("/batch", json={"items": [item]}))
    await asyncio.sleep(0.1)
    wrong = await socket.ask(id="b", **{**item, "wait_s": 61})
    assert (wrong["id"], wrong["status"], slug(wrong["problem"])) == ("b", 422, "validation")
    for session in sessions:
        if home(session) == server:
            await house.http.delete(f"/sessions/{session}")
    assert (await socket.hear())["status"] == 201
    assert (await asyncio.wait_for(batch, 15)).json()["results"][0]["status"] == 201
    await socket.close()


async def test_a_session_of_a_dead_server_has_failed_on_the_lane_and_in_a_batch(house: House) -> None:
    sessions = {home(session): session for session in [await house.opened() for _ in range(2)]}
    socket = await house.dial()
    for session in sessions.values():
        assert (await socket.ask(id="a", op="step", session_id=session, turn=1, action="x"))["ok"]
    house.machines.kill("http://a")
    items = [{"op": "get", "session_id": session} for session in sessions.values()]
    batch = (await house.http.post("/batch", json={"items": items})).json()["results"]
    frames = [await socket.ask(id="b", **item) for item in items]
    for results in (batch, frames):
        shown = {result["result"]["session_id"]: result["result"] for result in results}
        assert [result["status"] for result in results] == [200, 200]
        lost = shown[sessions["http://a"]]
        assert (lost["state"], lost["failure"]["kind"], lost["turn"]) == ("failed", "worker-lost", 1)
        assert shown[sessions["http://b"]]["state"] == "open"
    await socket.close()


async def test_openenv_is_told_of_a_lost_session_in_its_own_words(house: House) -> None:
    session = await house.opened("mischief")
    house.machines.kill("http://m")
    await house.look()
    socket = await house.dial("/openenv/mischief/ws", f"session_id={session}".encode())
    frame = await socket.hear()
    assert (frame["data"]["code"], frame["data"]["failure"]) == ("SESSION_ERROR", {"kind": "worker-lost"})
    with pytest.raises(Closed, match="1000"):
        await socket.receive()


async def test_a_frame_that_grows_on_its_way_is_refused_and_others_go_on(house: House) -> None:
    session = await house.opened()
    socket = await house.dial()
    long = "[" + ",".join(["1e9"] * 250_000) + "]"  # 1e9 becomes 1000000000.0
    await socket.send(f'{{"id":"a","op":"step","session_id":"{session}","turn":1,"action":{long}}}')
    assert slug((await socket.hear())["problem"]) == "payload-too-large"
    assert (await socket.ask(id="b", op="step", session_id=session, turn=1, action="x"))["ok"]
    await socket.close()


def dialect(name: str) -> Callable[[Any, Any, Any], Any]:
    """An application with one dialect's own WebSocket, for instance 4."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            body = {"instance": "AAAE", "status": "healthy", "envs": [{"env": "echo"}]}
            if scope["path"].startswith(f"/agentgym/{name}/"):
                body = {"path": scope["path"]}
            status = 200 if scope["path"] in ("/health", "/envs") or "path" in body else 404
            headers = [(b"content-type", b"application/json")]
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": json.dumps(body).encode()})
            return
        await receive()
        await send({"type": "websocket.accept", "subprotocol": None})
        while (message := await receive())["type"] == "websocket.receive":
            if message.get("text") == "bye":
                await send({"type": "websocket.close", "code": 4001})
                return
            await send(
                {"type": "websocket.send", "text": f"{scope['query_string'].decode()}:{message['text']}"}
            )

    return app


async def test_a_dialects_own_name_is_asked_for_at_every_server(house: House) -> None:
    house.machines.apps["http://d"] = dialect("weather")
    house.sources.append(Fixed("d", "http://d"))
    house.gateway = Gateway(house.sources, ServerSettings(), house.machines)
    await house.look()
    app = application(house.gateway)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=BASE) as client:
        reply = await client.post("/agentgym/weather/create", json={"id": 0})
        assert reply.json() == {"path": "/agentgym/weather/create"}
        assert (await client.post("/agentgym/nowhere/create", json={})).status_code == 404


async def test_a_dialects_websocket_is_carried_unread_and_its_end_too() -> None:
    machines = Machines()
    machines.apps["http://d"] = dialect("echo")
    source = Fixed("echo", "http://d")
    gateway = Gateway([source], ServerSettings(), machines)
    await gateway.watch.update(source)
    app = application(gateway)

    async def dial() -> WebSocket:
        return await WebSocket(app, "/openenv/echo/ws", b"session_id=s_AAAExxxxxxxxxxxxxxxx", ()).open()

    socket = await dial()
    await socket.send("hello")
    assert await socket.receive() == "session_id=s_AAAExxxxxxxxxxxxxxxx:hello"
    await socket.send("bye")
    with pytest.raises(Closed, match="4001"):
        await socket.receive()
    await asyncio.wait_for(socket.task, 2)

    socket = await dial()
    machines.kill("http://d")
    lost = json.loads(await asyncio.wait_for(socket.receive(), 2))
    assert (lost["type"], lost["data"]["code"]) == ("error", "SESSION_ERROR")
    assert lost["data"]["failure"] == {"kind": "worker-lost"}
    with pytest.raises(Closed, match="1011"):
        await socket.receive()
    await asyncio.wait_for(socket.task, 2)


async def test_a_session_of_another_environment_is_a_session_error_of_openenv(house: House) -> None:
    foreign = await house.opened("mischief")
    socket = await house.dial("/openenv/echo/ws", f"session_id={foreign}".encode())
    frame = await socket.hear()
    assert (frame["type"], frame["data"]["code"]) == ("error", "SESSION_ERROR")
    assert frame["data"]["message"] == f"Unknown session_id: {foreign}"
    with pytest.raises(Closed, match="1000"):
        await socket.receive()


async def test_a_session_of_another_environment_is_unknown_to_every_route_of_openenv(house: House) -> None:
    foreign = await house.opened("mischief")
    told = f"Unknown session_id: {foreign}"
    body = {"session_id": foreign, "action": {"text": "hi"}}
    step = await house.http.post("/openenv/echo/step", json=body)
    assert (step.status_code, step.json()) == (404, {"detail": told})
    close = {"jsonrpc": "2.0", "id": 1, "method": "openenv/session/close", "params": {"session_id": foreign}}
    rpc = await house.http.post("/openenv/echo/mcp", json=close)
    assert rpc.status_code == 200, rpc.text
    assert (rpc.json()["error"]["code"], rpc.json()["error"]["message"]) == (-32602, told)
    assert (await house.step(foreign, 1, "hi")).status_code == 200
