"""Tools that change within an episode, over every lane and dialect."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
import pytest_asyncio
from support.server.agentgym import serving
from support.server.changing_tools import LOCKED, UNLOCKED, Safe, WorkerSafe, call
from support.server.environments import Echo
from support.server.local_socket import LocalSocket

from agentgym_client import EnvClient
from agentgym_envs.tools import HEADING
from agentgym_server import create_app
from agentgym_server.app import service_of

pytestmark = pytest.mark.asyncio(loop_scope="module")  # one application for all: each starts a process

WORLDS = {"safe": Safe, "worker-safe": WorkerSafe, "echo": Echo}
BOTH = pytest.mark.parametrize("env", ["safe", "worker-safe"])
STEPS = [
    {"type": "tool_call", "name": "read", "arguments": {}},
    {"type": "tool_call", "name": "unlock", "arguments": {"code": 3}},
    call("unlock", code=3),
    {"type": "tool_call", "name": "lock", "arguments": {}},
]
CHANGES = [None, list(UNLOCKED), None, list(LOCKED)]
"""The tools that each reply shows, None where they stay as they were."""
Json = dict[str, Any]


class Served:
    """A served application."""

    def __init__(self, app: Any) -> None:
        self.app = app
        self.http = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")

    async def open(self, env: str = "safe") -> Json:
        task_id = "train/0" if env == "echo" else "safe-3"
        reply = await self.http.post(f"/envs/{env}/sessions", json={"task_id": task_id, "seed": 1})
        assert reply.status_code == 201, reply.text
        return reply.json()

    async def rpc(self, session: Json, method: str, accept: str = "*/*", **params: Any) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return await self.http.post(
            f"/sessions/{session['session_id']}/mcp", json=body, headers={"accept": accept}
        )


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def served() -> AsyncIterator[Served]:
    app = create_app(WORLDS)
    await service_of(app).start()
    one = Served(app)
    async with one.http:
        yield one
    await service_of(app).close()


async def over_rest(served: Served, session: str) -> list[Json]:
    found: list[Json] = []
    for turn, action in enumerate(STEPS, 1):
        body = {"turn": turn, "action": action}
        found.append((await served.http.post(f"/sessions/{session}/steps", json=body)).json())
    return found


def _operations(session: str) -> list[Json]:
    return [
        {"op": "step", "session_id": session, "turn": turn, "action": action}
        for turn, action in enumerate(STEPS, 1)
    ]


async def over_socket(served: Served, session: str) -> list[Json]:
    async with LocalSocket(served.app, "/ws") as socket:
        return [(await socket.ask({"id": "1", **one}))["result"] for one in _operations(session)]


async def over_batches(served: Served, session: str) -> list[Json]:
    reply = await served.http.post("/batch", json={"items": _operations(session)})
    return [item["result"] for item in reply.json()["results"]]


@BOTH
@pytest.mark.parametrize("lane", [over_rest, over_socket, over_batches])
async def test_a_reply_shows_the_tools_exactly_where_they_changed(served: Served, lane: Any, env: str):
    session = await served.open(env)
    assert session["tools"] == list(LOCKED)
    replies = await lane(served, session["session_id"])
    assert [reply["info"].get("tools") for reply in replies] == CHANGES
    assert [reply["info"].get("invalid_action", False) for reply in replies] == [False, False, True, False]
    view = (await served.http.get(f"/sessions/{session['session_id']}?history=true")).json()
    assert view["tools"] == list(LOCKED)
    assert [turn["info"].get("tools") for turn in view["history"]] == CHANGES


@BOTH
async def test_a_fork_has_the_tools_of_its_turn(served: Served, env: str):
    session = (await served.open(env))["session_id"]
    await over_rest(served, session)
    for at_turn, tools in ((0, LOCKED), (1, LOCKED), (2, UNLOCKED), (3, UNLOCKED), (4, LOCKED)):
        child = (await served.http.post(f"/sessions/{session}/fork", json={"at_turn": at_turn})).json()
        assert child["tools"] == list(tools)


async def test_the_client_has_the_current_tools_in_every_observation(served: Served):
    transport = httpx.ASGITransport(served.app)
    async with EnvClient("http://localhost", transport=transport) as client:
        (entry,) = [one for one in await client.environments() if one.env == "safe"]
        assert entry.capabilities["tools"] is True
        async with await client.open("safe", "safe-3") as session:
            seen = [
                session.observation.tools,
                *[(await session.step(one)).observation.tools for one in STEPS],
            ]
            assert seen == [LOCKED, LOCKED, UNLOCKED, UNLOCKED, LOCKED]
            child = await session.fork(at_turn=2)
            assert child.observation.tools == UNLOCKED
            assert (await child.step(call("open"))).terminated
            await child.close()


NOTIFIED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}
STREAMS = "application/json, text/event-stream"
UNLOCKING = {"name": "unlock", "arguments": {"code": 3}}


async def listed(served: Served, session: Json, **params: Any) -> list[str]:
    reply = (await served.rpc(session, "tools/list", **params)).json()
    return [tool["name"] for tool in reply["result"]["tools"]]


def events(reply: httpx.Response) -> list[Json]:
    assert reply.headers["content-type"].startswith("text/event-stream")
    blocks = reply.text.removesuffix("\n\n").split("\n\n")
    assert all(block.startswith("event: message\ndata: ") for block in blocks)
    return [json.loads(block.partition("data: ")[2]) for block in blocks]


async def test_mcp_lists_the_current_tools_and_notifies_of_changes(served: Served):
    session, other = await served.open(), await served.open()
    begun = (await served.rpc(session, "initialize", protocolVersion="2025-11-25")).json()["result"]
    assert begun["capabilities"] == {"tools": {"listChanged": True}}
    assert await listed(served, session) == ["read", "unlock"]
    notified, answer = events(await served.rpc(session, "tools/call", STREAMS, **UNLOCKING))
    assert (notified, answer["result"]["content"][0]["text"]) == (NOTIFIED, "unlocked")
    assert answer["result"]["_meta"] == {
        "agentevol/turn": 1,
        "agentevol/state": "open",
        "agentevol/tools_changed": True,
    }
    assert await listed(served, session) == ["read", "lock", "open"]
    assert await listed(served, other) == ["read", "unlock"]  # each session has its own
    refused = (await served.rpc(session, "tools/call", STREAMS, **UNLOCKING)).json()
    assert refused["error"] == {"code": -32602, "message": "Unknown tool: unlock"}
    assert (await served.rpc(session, "tools/call", STREAMS, name="read")).json()["result"]["_meta"] == {
        "agentevol/turn": 2,
        "agentevol/state": "open",
    }
    ended = (await served.rpc(session, "tools/call", STREAMS, name="open")).json()
    assert ended["result"]["_meta"] == {"agentevol/turn": 3, "agentevol/state": "ended"}


async def test_mcp_sends_no_stream_to_a_client_that_reads_none(served: Served):
    modern = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
    for accept, meta in (("application/json", {}), ("*/*", {}), (STREAMS, modern)):
        reply = await served.rpc(await served.open(), "tools/call", accept, **UNLOCKING, _meta=meta)
        assert reply.headers["content-type"] == "application/json"
        assert reply.json()["result"]["_meta"]["agentevol/tools_changed"] is True


async def test_mcp_announces_changes_only_where_there_may_be_any(served: Served):
    echo = await served.open("echo")
    begun = (await served.rpc(echo, "initialize")).json()["result"]
    assert begun["capabilities"] == {"tools": {"listChanged": False}}


async def test_openenv_lists_the_tools_of_the_moment(served: Served):
    async with LocalSocket(served.app, "/openenv/safe/ws") as socket:

        async def step(**data: Any) -> Json:
            return (await socket.ask({"type": "step", "data": data}))["data"]["observation"]

        await socket.ask({"type": "reset", "data": {"task_id": "safe-3"}})
        names = [tool["name"] for tool in (await step(type="list_tools"))["tools"]]
        assert names == ["read", "unlock"]
        await step(type="call_tool", tool_name="unlock", arguments={"code": 3})
        names = [tool["name"] for tool in (await step(type="list_tools"))["tools"]]
        assert names == ["read", "lock", "open"]
        gone = await step(type="call_tool", tool_name="unlock", arguments={"code": 3})
        assert gone["error"]["error_type"] == "tool_not_found"
        assert (await step(text=call("lock")))["info"]["tools"] == list(LOCKED)


def lines(*tools: Json) -> str:
    return "\n\n" + "\n".join([HEADING, *(json.dumps(tool["function"]) for tool in tools)])


async def test_agentgym_tells_changed_tools_in_the_observation():
    async with serving({"safe": Safe}) as client:
        _, made = await client.post("safe/create")
        number = made["id"] if isinstance(made, dict) else made
        _, opened = await client.post("safe/reset", {"id": number, "data_idx": 0})
        assert opened["observation"] == "Open the safe. The code is 3." + lines(*LOCKED)
        _, stayed = await client.post("safe/step", {"id": number, "action": call("read")})
        assert stayed["observation"] == "locked"
        _, changed = await client.post("safe/step", {"id": number, "action": call("unlock", code=3)})
        assert changed["observation"] == "unlocked" + lines(*UNLOCKED)
        _, ended = await client.post("safe/step", {"id": number, "action": call("open")})
        assert (ended["observation"], ended["done"]) == ("It is open.", True)
