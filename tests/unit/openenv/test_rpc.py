"""OpenEnv's tools: JSON-RPC by POST, by a socket of its own and in frames; tool actions of a step."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from support.server.environments import Echo
from support.server.local_socket import LocalSocket
from support.server.openenv import code, reset, v1_session

from agentgym_envs.core import Environment, Observation, StepResult, Task
from agentgym_server import ServerSettings, create_app
from agentgym_server.dialects.openenv import tools
from agentgym_server.service import Service


class Calculator(Echo):
    """Has tools: `add` wins with 3, `fail` is refused; `reset` has a name that OpenEnv reserves."""

    name = "calculator"

    def reset(self, task: Task, seed: int) -> Observation:
        return self._seen("Add up to 3.")

    def step(self, action: str) -> StepResult:
        call = json.loads(action) if action.startswith("{") else {"name": "say", "arguments": {}}
        if call["name"] != "add":
            return StepResult(observation=self._seen("No."), info={"invalid_action": True})
        total = sum(call["arguments"].values())
        return StepResult(observation=self._seen(json.dumps(total)), reward=0.5, terminated=total == 3)

    def _seen(self, text: str) -> Observation:
        tools = [
            {"type": "function", "function": {"name": name, "description": f"To {name}.", "parameters": FORM}}
            for name in ("add", "fail", "reset")
        ]
        return Observation(text=text, tools=tuple(tools))


FORM = {"type": "object", "properties": {"a": {"type": "integer"}, "s": {"type": "string"}}}
WORLDS: dict[str, Callable[[], Environment[Any]]] = {"echo": Echo, "calculator": Calculator}


@pytest.fixture
def app() -> FastAPI:
    return create_app(WORLDS, settings=ServerSettings(max_sessions=3))


async def rpc(http: httpx.AsyncClient, method: str, env: str = "calculator", **params: Any) -> dict[str, Any]:
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    reply = await http.post(f"/openenv/{env}/mcp", json=body)
    assert reply.status_code == 200
    document = reply.json()
    assert (document.pop("jsonrpc"), document.pop("id"), len(document)) == ("2.0", 1, 1)
    return document


TOOLS = [{"name": name, "description": f"To {name}.", "inputSchema": FORM} for name in ("add", "fail")]
NO_TOOLS = {"code": -32603, "message": "Environment does not support MCP", "data": None}


async def test_tools_are_listed_and_called(http: httpx.AsyncClient, service: Service):
    assert await rpc(http, "tools/list") == {"result": {"tools": TOOLS}}
    result = (await rpc(http, "tools/call", name="add", arguments={"a": 1, "b": 1}))["result"]
    session = result["metadata"].pop("session_id")
    assert session.startswith("s_")
    assert result == {
        "content": [{"type": "text", "text": "2"}],
        "data": 2,
        "isError": False,
        "metadata": {"terminated": False, "truncated": False, "turn": 1},
    }
    assert service.registry.active == 0


async def test_a_refused_call_is_an_error_of_the_tool(http: httpx.AsyncClient):
    result = (await rpc(http, "tools/call", name="fail"))["result"]
    assert (result["isError"], result["data"]) == (True, "No.")


async def test_a_session_by_rpc(http: httpx.AsyncClient, service: Service):
    session = (await rpc(http, "openenv/session/create", task_id="test/1"))["result"]["session_id"]
    view = (await http.get(f"/sessions/{session}")).json()
    assert (view["state"], view["task_id"], view["env"]) == ("open", "test/1", "calculator")
    for turn in (1, 2):
        result = (await rpc(http, "tools/call", name="add", arguments={"a": 1}, session_id=session))["result"]
        assert result["metadata"]["turn"] == turn
    assert await rpc(http, "tools/list", session_id=session) == {"result": {"tools": TOOLS}}
    closed = {"result": {"session_id": session, "closed": True}}
    assert await rpc(http, "openenv/session/close", session_id=session) == closed
    unknown = {"code": -32602, "message": f"Unknown session_id: {session}", "data": None}
    assert await rpc(http, "openenv/session/close", session_id=session) == {"error": unknown}
    assert await rpc(http, "tools/list", session_id=session) == {"error": unknown}
    assert service.registry.active == 0


async def test_a_session_with_a_socket_closes_when_that_leaves(
    app: FastAPI, http: httpx.AsyncClient, service: Service
):
    session = (await rpc(http, "openenv/session/create"))["result"]["session_id"]
    async with LocalSocket(app, f"/openenv/calculator/ws?session_id={session}") as socket:
        await reset(socket)
        closing = {"result": {"session_id": session, "closed": False, "closing": True}}
        assert await rpc(http, "openenv/session/close", session_id=session) == closing
        assert (await socket.ask({"type": "state"}))["data"]["turn"] == 0
        assert service.registry.active == 1
    assert service.registry.active == 0


async def test_rpc_and_socket_share_a_session_over_resets(app: FastAPI, http: httpx.AsyncClient):
    session = (await rpc(http, "openenv/session/create"))["result"]["session_id"]
    async with LocalSocket(app, f"/openenv/calculator/ws?session_id={session}") as socket:
        await reset(socket)
        call = {"name": "add", "arguments": {"a": 2}, "session_id": session}
        assert (await rpc(http, "tools/call", **call))["result"]["metadata"]["turn"] == 1
        assert (await socket.ask({"type": "state"}))["data"]["step_count"] == 1


@pytest.mark.parametrize(
    ("method", "params", "error", "message"),
    [
        ("initialize", {}, -32601, "Method not found: initialize"),
        ("ping", {}, -32601, "Method not found: ping"),
        ("tools/call", {}, -32602, "Missing 'name' in params"),
        ("tools/call", {"name": 5}, -32602, "Missing 'name' in params"),
        ("tools/call", {"name": "sub"}, -32602, "Tool not found: sub"),
        ("tools/call", {"name": "reset"}, -32602, "Tool not found: reset"),
        (
            "tools/call",
            {"name": "add", "arguments": {"a": "1"}},
            -32602,
            "Invalid params - /a must be of type integer",
        ),
        (
            "tools/call",
            {"name": "add", "arguments": {"s": "x" * 65_536}},
            -32602,
            "Invalid params - arguments must have at most 65536 characters",
        ),
        (
            "tools/call",
            {"name": "add", "arguments": []},
            -32602,
            "Invalid params - 'arguments' must be an object",
        ),
        ("tools/call", {"name": "add", "session_id": "x"}, -32602, "Unknown session_id: x"),
        ("tools/list", {"session_id": "x"}, -32602, "Unknown session_id: x"),
        ("tools/list", {"session_id": 5}, -32602, "Invalid params - 'session_id' must be a string"),
        ("openenv/session/close", {}, -32602, "Invalid params - 'session_id' is required"),
        ("openenv/session/close", {"session_id": {}}, -32602, "Invalid params - 'session_id' is required"),
        ("openenv/session/close", {"session_id": "x"}, -32602, "Unknown session_id: x"),
    ],
)
async def test_what_is_wrong_with_a_call(
    http: httpx.AsyncClient, service: Service, method: str, params: dict[str, Any], error: int, message: str
):
    expected = {"code": error, "message": message, "data": None}
    assert await rpc(http, method, **params) == {"error": expected}
    assert service.registry.active == 0


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", -32700),
        (b"{", -32700),
        (b'{"jsonrpc":"2.0","id":1,"id":1,"method":"tools/list"}', -32700),
        (b'{"jsonrpc":"2.0","id":NaN,"method":"tools/list"}', -32700),
        (b"[" * 100_000, -32700),
        (b'"\\ud800"', -32700),
        (b"{}", -32600),
        (b"[]", -32600),
        (b"5", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"tools/list"}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":[]}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":null}', -32600),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/list","more":1}', -32600),
    ],
)
async def test_a_bad_request_is_a_200_with_an_error(http: httpx.AsyncClient, body: bytes, error: int):
    reply = await http.post("/openenv/calculator/mcp", content=body)
    assert (reply.status_code, reply.json()["error"]["code"], reply.json()["id"]) == (200, error, None)
    assert len(reply.content) < 1000


@pytest.mark.parametrize("request_id", ["abc", 7, None])
async def test_a_reply_has_the_id_of_its_request(http: httpx.AsyncClient, request_id: object):
    body = {"jsonrpc": "2.0", "id": request_id, "method": "tools/list"}
    assert (await http.post("/openenv/calculator/mcp", json=body)).json()["id"] == request_id


async def test_an_environment_without_tools_says_so(
    http: httpx.AsyncClient, echo: LocalSocket, service: Service
):
    assert await rpc(http, "tools/list", env="echo") == {"error": NO_TOOLS}
    assert await rpc(http, "tools/call", env="echo", name="add") == {"error": NO_TOOLS}
    data = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    reply = await echo.ask({"type": "mcp", "data": data})
    assert reply == {"type": "mcp", "data": {"jsonrpc": "2.0", "id": 1, "error": NO_TOOLS}}
    assert service.registry.capacity.taken == 1  # the socket's


async def test_a_full_server_is_an_error_with_its_numbers(app: FastAPI, http: httpx.AsyncClient):
    sessions = [await v1_session(http) for _ in range(3)]
    full = {
        "code": -32000,
        "message": "3 of 3 sessions are in use",
        "data": {"active_sessions": 3, "max_sessions": 3},
    }
    for method in ("openenv/session/create", "tools/list"):
        assert await rpc(http, method) == {"error": full}
    async with LocalSocket(app, "/openenv/calculator/mcp") as socket:
        assert await socket.hear() == {"jsonrpc": "2.0", "id": None, "error": full}
        assert await socket.closing() == 1000
    assert len(sessions) == 3


async def test_a_call_after_the_end_or_a_failure_has_no_result(http: httpx.AsyncClient):
    session = (await rpc(http, "openenv/session/create"))["result"]["session_id"]
    call = {"name": "add", "session_id": session}
    won = await rpc(http, "tools/call", **call, arguments={"a": 3})
    assert won["result"]["metadata"]["terminated"] is True
    error = (await rpc(http, "tools/call", **call))["error"]
    assert (error["code"], error["message"]) == (-32603, "the episode ended with turn 1")


async def test_a_broken_tool_is_an_internal_error_with_the_failure(http: httpx.AsyncClient):
    error = (await rpc(http, "tools/call", name="add", arguments={"s": "x"}))["error"]
    assert error["code"] == -32603
    assert error["data"]["failure"]["kind"] == "internal"


async def test_rpc_over_a_socket_of_its_own(app: FastAPI, service: Service):
    def call(method: str, **params: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": "q", "method": method, "params": params}

    async with LocalSocket(app, "/openenv/calculator/mcp") as socket:
        assert (await socket.ask(call("tools/list")))["result"] == {"tools": TOOLS}
        created = (await socket.ask(call("openenv/session/create")))["result"]["session_id"]
        for turn in (1, 2):
            result = (await socket.ask(call("tools/call", name="add", arguments={"a": 1})))["result"]
            assert (result["metadata"]["turn"], result["metadata"]["session_id"]) == (turn, created)
        error = (await socket.ask(call("openenv/session/close", session_id=created)))["error"]
        text = "Cannot close active WebSocket-managed session via MCP method"
        assert (error["code"], error["message"]) == (-32600, text)
        assert (await socket.ask("nope"))["error"]["code"] == -32700
        assert (await socket.ask("[]"))["error"]["code"] == -32600
        assert service.registry.active == 1
        assert (await socket.ask(b"{}"))["error"]["code"] == -32600
        assert await socket.closing() == 1003
    assert (service.registry.active, service.registry.capacity.taken) == (0, 0)


async def test_rpc_in_frames_plays_the_socket_s_episode(app: FastAPI):
    async with LocalSocket(app, "/openenv/calculator/ws") as socket:
        await reset(socket)
        data = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": "add", "arguments": {"a": 2}},
        }
        reply = await socket.ask({"type": "mcp", "data": data})
        assert (reply["type"], reply["data"]["result"]["data"]) == ("mcp", 2)
        assert (await socket.ask({"type": "state"}))["data"]["step_count"] == 1
        assert (await socket.ask({"type": "mcp", "data": {}}))["data"]["error"]["code"] == -32600


@asynccontextmanager
async def calculating(app: FastAPI) -> AsyncIterator[LocalSocket]:
    async with LocalSocket(app, "/openenv/calculator/ws") as socket:
        await reset(socket)
        yield socket


async def test_a_tool_may_be_called_by_a_step(app: FastAPI):
    async with calculating(app) as socket:
        action = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 1, "b": 2}}
        data = (await socket.ask({"type": "step", "data": action}))["data"]
        observation = data["observation"]
        assert observation == {
            "tool_name": "add",
            "result": 3,
            "error": None,
            "metadata": observation["metadata"],
        }
        assert (data["reward"], data["done"], data["metadata"]["turn"]) == (0.5, True, 1)


async def test_tools_may_be_listed_by_a_step_which_takes_no_turn(app: FastAPI):
    async with calculating(app) as socket:
        data = (await socket.ask({"type": "step", "data": {"type": "list_tools"}}))["data"]
        rows = [
            {"name": name, "description": f"To {name}.", "input_schema": FORM} for name in ("add", "fail")
        ]
        assert data["observation"]["tools"] == rows
        assert (data["reward"], data["done"], data["metadata"]["turn"]) == (0.0, False, 0)


@pytest.mark.parametrize(
    ("name", "error", "message", "turn"),
    [
        ("sub", "tool_not_found", "Tool not found: sub", 0),
        ("close", "tool_not_found", "Tool not found: close", 0),
        ("fail", "invalid_args", "No.", 1),
    ],
)
async def test_a_call_that_gives_nothing_says_why(
    app: FastAPI, name: str, error: str, message: str, turn: int
):
    async with calculating(app) as socket:
        data = (await socket.ask({"type": "step", "data": {"type": "call_tool", "tool_name": name}}))["data"]
        observation = data["observation"]
        assert (observation["result"], observation["tool_name"]) == (None, name)
        assert observation["error"] == {"error_type": error, "message": message}
        assert (data["reward"], data["metadata"]["turn"]) == (0.0, turn)


async def test_arguments_that_do_not_fit_take_no_turn(app: FastAPI):
    async with calculating(app) as socket:
        action = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 1.5}}
        data = (await socket.ask({"type": "step", "data": action}))["data"]
        error = {"error_type": "invalid_args", "message": "/a must be of type integer"}
        assert (data["observation"]["error"], data["metadata"]["turn"]) == (error, 0)


async def test_texts_may_be_said_where_there_are_tools(app: FastAPI):
    async with calculating(app) as socket:
        reply = await socket.ask({"type": "step", "data": {"text": "hello"}})
        assert reply["data"]["observation"]["text"] == "No."


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2", 2),
        ('{"a": [null]}', {"a": [None]}),
        ("two", "two"),
        ("NaN", "NaN"),
        ('{"a":1,"a":2}', '{"a":1,"a":2}'),
    ],
)
def test_a_result_is_the_value_of_its_json_or_its_text(text: str, value: object):
    assert tools.result({"observation": text}) == value


async def test_a_broken_tool_is_a_failure_and_no_reward(app: FastAPI):
    async with calculating(app) as socket:
        action = {"type": "call_tool", "tool_name": "add", "arguments": {"s": "x"}}
        reply = await socket.ask({"type": "step", "data": action})
        assert (code(reply), reply["data"]["failure"]["kind"]) == ("EXECUTION_ERROR", "internal")


@pytest.mark.parametrize(
    "action",
    [
        {"type": "call_tool"},
        {"type": "call_tool", "tool_name": 5},
        {"type": "call_tool", "tool_name": "add", "arguments": []},
        {"type": "call_tool", "tool_name": "add", "more": 1},
        {"type": "list_tools", "more": 1},
        {"type": "zzz", "text": "a"},
        {"type": ["call_tool"]},
    ],
)
async def test_tool_actions_are_strict(app: FastAPI, action: dict[str, Any]):
    async with calculating(app) as socket:
        assert code(await socket.ask({"type": "step", "data": action})) == "VALIDATION_ERROR"
        assert (await socket.ask({"type": "state"}))["data"]["turn"] == 0


async def test_tool_actions_are_unknown_where_there_are_no_tools(echo: LocalSocket):
    await reset(echo)
    action = {"type": "call_tool", "tool_name": "add", "arguments": {}}
    assert code(await echo.ask({"type": "step", "data": action})) == "VALIDATION_ERROR"


async def test_tool_actions_over_http(http: httpx.AsyncClient):
    action = {"type": "call_tool", "tool_name": "add", "arguments": {"a": 2}}
    reply = (await http.post("/openenv/calculator/step", json={"action": action})).json()
    assert (reply["observation"]["result"], reply["reward"]) == (2, 0.5)
    reply = await http.post("/openenv/echo/step", json={"action": action})
    assert reply.status_code == 422
