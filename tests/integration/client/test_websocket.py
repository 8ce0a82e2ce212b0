"""The client's fast lane: what goes into a frame, and what becomes of those who wait."""

import asyncio
import json
from typing import Any

import httpx
import pytest
import uvicorn
from support.server.environments import Echo
from websockets.asyncio.client import ClientConnection

from agentgym_client import EnvClient, ServerProblem, TransportError
from agentgym_client import websocket as lane
from agentgym_client.websocket import Connection
from agentgym_server import ServerSettings, create_app

STEP = {"op": "step", "session_id": "s_1", "turn": 1, "action": "look"}


class Wire:
    """The far end of a connection, played by the test."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.replies: asyncio.Queue[bytes | Exception] = asyncio.Queue()

    async def send(self, frame: bytes, text: bool) -> None:
        assert text
        self.sent.append(json.loads(frame))

    async def recv(self, decode: bool) -> bytes:
        assert not decode
        reply = await self.replies.get()
        if isinstance(reply, Exception):
            raise reply
        return reply

    async def close(self) -> None:
        pass

    def answer(self, frame: dict[str, Any], **members: Any) -> None:
        self.replies.put_nowait(json.dumps({"id": frame["id"], **members}).encode())


@pytest.fixture
async def wire() -> Wire:
    return Wire()


def good(value: object) -> dict[str, Any]:
    return {"ok": True, "status": 200, "result": value}


def bad(slug: str, status: int) -> dict[str, Any]:
    document = {"type": f"urn:agentevol:problem:{slug}", "detail": "no", "retryable": False}
    return {"ok": False, "status": status, "problem": document}


async def test_steps_that_come_together_share_a_frame_and_nothing_else_does(wire: Wire):
    line = Connection(wire)  # type: ignore[arg-type]
    asked = [line.ask({**STEP, "session_id": f"s_{n}"}, 5) for n in range(3)]
    asked.append(line.ask({"op": "delete", "session_id": "s_9"}, 5))
    asked.append(line.ask({**STEP, "action": "x" * 2001}, 5))
    await asyncio.sleep(0.01)
    assert [frame["op"] for frame in wire.sent] == ["delete", "step", "batch"]
    assert [item["session_id"] for item in wire.sent[2]["items"]] == ["s_0", "s_1", "s_2"]
    wire.answer(wire.sent[2], **good({"results": [good(0), bad("turn-conflict", 409), good(2)]}))
    wire.answer(wire.sent[0], **good("deleted"))
    wire.answer(wire.sent[1], **good("long"))
    assert [await asked[0], await asked[2], await asked[3], await asked[4]] == [0, 2, "deleted", "long"]
    with pytest.raises(ServerProblem, match="turn-conflict"):
        await asked[1]
    await line.close()


async def test_a_slow_batch_makes_the_lane_send_steps_one_by_one(wire: Wire, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lane, "QUICK_S", 0.0)
    line = Connection(wire)  # type: ignore[arg-type]
    together = [line.ask(STEP, 5), line.ask(STEP, 5)]
    await asyncio.sleep(0.01)
    wire.answer(wire.sent[0], **good({"results": [good(0), good(1)]}))
    assert await asyncio.gather(*together) == [0, 1]
    apart = [line.ask(STEP, 5), line.ask(STEP, 5)]
    await asyncio.sleep(0.01)
    assert [frame["op"] for frame in wire.sent] == ["batch", "step", "step"]
    for frame in wire.sent[1:]:
        wire.answer(frame, **good("alone"))
    assert await asyncio.gather(*apart) == ["alone", "alone"]
    await line.close()


async def test_a_batch_that_is_refused_is_the_problem_of_everyone_in_it(wire: Wire):
    line = Connection(wire)  # type: ignore[arg-type]
    asked = [line.ask(STEP, 5), line.ask(STEP, 5)]
    await asyncio.sleep(0.01)
    wire.answer(wire.sent[0], **bad("rate-limited", 429))
    for reply in asked:
        with pytest.raises(ServerProblem, match="rate-limited"):
            await reply
    await line.close()


async def test_a_lost_connection_fails_all_who_wait(wire: Wire):
    line = Connection(wire)  # type: ignore[arg-type]
    sent = line.ask(STEP, 5)
    await asyncio.sleep(0.01)
    wire.replies.put_nowait(ConnectionResetError("gone"))
    with pytest.raises(TransportError, match="the connection was lost"):
        await sent
    assert line.lost


async def test_an_answer_that_never_comes_is_given_up_and_one_that_comes_late_is_ignored(wire: Wire):
    line = Connection(wire)  # type: ignore[arg-type]
    with pytest.raises(TransportError, match=r"step: no answer within 0\.02 s"):
        await line.ask(STEP, 0.02)
    wire.answer(wire.sent[0], **good("late"))
    again = line.ask(STEP, 5)
    await asyncio.sleep(0.01)
    wire.answer(wire.sent[1], **good("in time"))
    assert await again == "in time"
    await line.close()


async def test_one_who_stopped_waiting_takes_nobody_along(wire: Wire):
    line = Connection(wire)  # type: ignore[arg-type]
    gone, waits = line.ask(STEP, 5), line.ask(STEP, 5)
    await asyncio.sleep(0.01)
    gone.cancel()
    wire.answer(wire.sent[0], **good({"results": [good(0), good(1)]}))
    assert await waits == 1
    await line.close()


class Listening:
    """A server on a real port of this process."""

    def __init__(self, app: Any, port: int = 0, **options: Any) -> None:
        config = uvicorn.Config(app, port=port, lifespan="off", log_level="error", **options)
        self._server = uvicorn.Server(config)

    async def __aenter__(self) -> str:
        self._task = asyncio.create_task(self._server.serve())
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        port = self._server.servers[0].sockets[0].getsockname()[1]
        return f"http://127.0.0.1:{port}"

    async def __aexit__(self, *_: object) -> None:
        self._server.should_exit = True
        await self._task


async def episode(client: EnvClient) -> list[object]:
    async with await client.open("echo", "train/0", seed=1) as session:
        return [await session.step(action) for action in ("a", "ü \u2028 \U0001f600", "\ud800", "stop")]


async def test_the_lanes_give_the_same_and_a_server_without_websockets_gets_rest():
    app = create_app({"echo": Echo})
    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as direct:
        expected = await episode(direct)
    counts = app.state.service.metrics.requests
    step = ("/sessions/{session_id}/steps", "POST", 200)
    before = counts[step]
    async with Listening(app) as url, EnvClient(url) as client:
        assert await episode(client) == expected
        assert counts[step] == before
    async with Listening(app, ws="none") as url, EnvClient(url) as client:
        assert await episode(client) == expected
        assert counts[step] == before + 4
    async with Listening(app) as url, EnvClient(url, lane="rest") as client:
        assert await episode(client) == expected
        assert counts[step] == before + 8


async def test_a_wrong_token_is_a_problem_and_no_reason_for_another_lane():
    async with (
        Listening(create_app({"echo": Echo}, settings=ServerSettings(token="right"))) as url,
        EnvClient(url, token="wrong") as client,
    ):
        with pytest.raises(ServerProblem, match="unauthorized"):
            await client.open("echo", "train/0")


async def test_an_episode_goes_on_over_a_new_connection_when_the_server_cut_the_old_one():
    app = create_app({"echo": Echo})
    async with EnvClient("http://localhost", retries=0) as unreachable:
        with pytest.raises(TransportError):
            await unreachable.open("echo", "train/0")
    async with Listening(app) as url:
        client = EnvClient(url)
        session = await client.open("echo", "train/0")
        await session.step("a")
        fast = client._caller._fast
        await fast._line._connection.close()  # type: ignore[union-attr]
        assert (await session.step("b")).observation.text == "2: a b"
        await client.close()


async def test_a_connection_cut_before_the_upgrade_was_sent_is_tried_again(monkeypatch: pytest.MonkeyPatch):
    cuts = 2
    handshake = ClientConnection.handshake

    async def cut(self: ClientConnection, *arguments: Any) -> None:
        nonlocal cuts
        if cuts:
            cuts -= 1
            self.transport.abort()
            await self.connection_lost_waiter
        await handshake(self, *arguments)

    monkeypatch.setattr(ClientConnection, "handshake", cut)
    async with Listening(create_app({"echo": Echo})) as url, EnvClient(url, retries=1) as client:
        with pytest.raises(TransportError, match="ConnectionClosedError"):
            await client.open("echo", "train/0")
        session = await client.open("echo", "train/0")
        assert (await session.step("a")).observation.text == "1: a"
        assert client._caller._fast is not None


async def test_a_server_that_dies_in_the_middle_of_an_upgrade_keeps_its_lane():
    async def die(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    app = create_app({"echo": Echo})
    async with await asyncio.start_server(die, "127.0.0.1", 0) as dying:
        port = dying.sockets[0].getsockname()[1]
        client = EnvClient(f"http://127.0.0.1:{port}", retries=0)
        with pytest.raises(TransportError):
            await client.open("echo", "train/0")
    async with Listening(app, port=port), client:
        session = await client.open("echo", "train/0")
        assert (await session.step("a")).observation.text == "1: a"
        assert client._caller._fast is not None
        assert client._caller._fast._line is not None  # type: ignore[attr-defined]


async def test_an_action_that_is_no_json_is_the_callers_error_alone():
    async with Listening(create_app({"echo": Echo})) as url, EnvClient(url) as client:
        one, other = await client.open("echo", "train/0"), await client.open("echo", "train/0")
        for wrong in (float("nan"), object()):
            action = {"type": "tool_call", "name": "f", "arguments": {"x": wrong}}
            told = await asyncio.gather(one.step(action), other.step("a"), return_exceptions=True)
            assert isinstance(told[0], ValueError | TypeError)
            assert not isinstance(told[1], BaseException)
        assert (await one.step("NaN and Infinity are words")).observation.text.startswith("1: NaN")
