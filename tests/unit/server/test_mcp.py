"""MCP per session: both eras of the protocol with literal messages, the turn rules, and what nobody should
send."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.server.environments import CheapMischief, Echo, Slow

from agentgym_envs.core import Observation, StepResult, Task
from agentgym_server import ServerSettings, create_app
from agentgym_server.service import release

JSON = {"content-type": "application/json"}
SERVER = {"name": "agentevol", "version": release()}
MODERN = {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}
WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"type": "string", "enum": ["C", "F"]},
    },
    "required": ["city"],
    "additionalProperties": False,
}


class Tooled(Echo):
    """Has tools: `weather` answers a list, `broken` an error object, `note` no JSON; `done` ends it."""

    name = "tooled"

    def _seen(self, text: str) -> Observation:
        names = ("weather", "broken", "note", "done")
        functions = [
            {"name": name, "description": f"To {name}.", "parameters": WEATHER} for name in names[:1]
        ]
        functions += [{"name": name, "description": f"To {name}."} for name in names[1:]]
        return Observation(text=text, tools=tuple({"type": "function", "function": f} for f in functions))

    def reset(self, task: Task, seed: int) -> Observation:
        return self._seen("Call something.")

    def step(self, action: str) -> StepResult:
        call = json.loads(action)
        answers = {"broken": '{"error": {"code": "tool_error", "message": "no"}}', "note": "noted"}
        text = answers.get(call["name"], json.dumps([call["arguments"]]))
        if call["name"] == "done":  # the tools go with the episode
            return StepResult(observation=Observation(text="{}"), reward=1.0, terminated=True)
        return StepResult(observation=self._seen(text))


WORLDS = {"echo": Echo, "tooled": Tooled, "slow": Slow, "mischief": CheapMischief}


def client(**settings: Any) -> httpx.AsyncClient:
    app = create_app(WORLDS, settings=ServerSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with client() as http:
        yield http


async def opened(http: httpx.AsyncClient, env: str = "echo", **body: Any) -> str:
    """The path of a new session's endpoint."""
    reply = await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", "seed": 1, **body})
    return f"/sessions/{reply.json()['session_id']}/mcp"


def request(method: str, params: Any = None, request_id: Any = 1) -> dict[str, Any]:
    message = {"jsonrpc": "2.0", "id": request_id, "method": method}
    return message if params is None else {**message, "params": params}


def call(name: str, arguments: Any, **meta: Any) -> dict[str, Any]:
    """A `tools/call`; `turn=3` and the like go to `_meta`."""
    marks = {f"agentevol/{key}": value for key, value in meta.items()}
    return request("tools/call", {"name": name, "arguments": arguments, "_meta": marks})


async def result(http: httpx.AsyncClient, path: str, message: dict[str, Any]) -> dict[str, Any]:
    reply = await http.post(path, json=message)
    assert (reply.status_code, reply.headers["content-type"]) == (200, "application/json")
    assert reply.headers["cache-control"] == "no-store"
    assert set(reply.json()) == {"jsonrpc", "id", "result"}, reply.json()
    return reply.json()["result"]


async def refusal(
    http: httpx.AsyncClient, path: str, body: Any, headers: dict[str, str] | None = None
) -> tuple[int, int, Any]:
    """HTTP status, code and id of an error."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    reply = await http.post(path, content=content, headers={**JSON, **(headers or {})})
    answer = reply.json()
    assert set(answer) == {"jsonrpc", "id", "error"}, answer
    assert len(answer["error"]["message"]) <= 300
    return reply.status_code, answer["error"]["code"], answer["id"]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2024-11-05", "2024-11-05"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
        (5, "2025-11-25"),
        ({}, "2025-11-25"),
    ],
)
async def test_initialize_speaks_the_version_asked_for_where_it_knows_it(
    http: httpx.AsyncClient, asked: Any, answered: str
):
    message = request("initialize", {"protocolVersion": asked, "capabilities": {}, "clientInfo": {}})
    assert await result(http, await opened(http), message) == {
        "protocolVersion": answered,
        "capabilities": {"tools": {"listChanged": False}},
        "serverInfo": SERVER,
    }


async def test_ping_is_answered_with_the_id_of_its_type(http: httpx.AsyncClient):
    path = await opened(http)
    for request_id in (0, -1, 2**60, "", "1", "\u00fc\U0001f600"):
        reply = await http.post(path, json=request("ping", request_id=request_id))
        assert reply.json() == {"jsonrpc": "2.0", "id": request_id, "result": {}}


async def test_a_notification_gets_202_and_no_body_and_never_acts(http: httpx.AsyncClient):
    path = await opened(http)
    for method in ("notifications/initialized", "notifications/cancelled", "what/ever", "tools/call"):
        params = {"name": "act", "arguments": {"action": "hello"}}
        reply = await http.post(path, json={"jsonrpc": "2.0", "method": method, "params": params})
        assert (reply.status_code, reply.content) == (202, b"")
    assert (await http.get(path.removesuffix("/mcp"))).json()["turn"] == 0


async def test_an_environment_without_tools_has_act_and_look(http: httpx.AsyncClient):
    listed = await result(http, await opened(http), request("tools/list"))
    assert set(listed) == {"tools"}
    assert [tool.get("annotations") for tool in listed["tools"]] == [None, {"readOnlyHint": True}]
    act, look = ((tool["name"], tool["inputSchema"]) for tool in listed["tools"])
    action = {"type": "string", "description": "The action, for example: look"}
    assert act == (
        "act",
        {
            "type": "object",
            "properties": {"action": action},
            "required": ["action"],
            "additionalProperties": False,
        },
    )
    assert look == ("look", {"type": "object", "properties": {}, "additionalProperties": False})


async def test_a_call_is_a_turn_and_has_no_reward(http: httpx.AsyncClient):
    path = await opened(http)
    assert await result(http, path, call("act", {"action": "hello"})) == {
        "content": [{"type": "text", "text": "1: hello"}],
        "structuredContent": {"result": "1: hello"},
        "isError": False,
        "_meta": {"agentevol/turn": 1, "agentevol/state": "open"},
    }
    last = await result(http, path, call("act", {"action": "stop"}))
    assert last["_meta"] == {"agentevol/turn": 2, "agentevol/state": "ended"}
    assert (await http.get(path.removesuffix("/mcp"))).json()["total_reward"] == 1.125


async def test_rewards_are_told_where_the_server_is_set_so():
    async with client(mcp_expose_reward=True) as http:
        path = await opened(http)
        await result(http, path, call("act", {"action": "hello"}))
        assert (await result(http, path, call("act", {"action": "stop"})))["_meta"] == {
            "agentevol/turn": 2,
            "agentevol/state": "ended",
            "agentevol/reward": 1.0,
            "agentevol/total_reward": 1.125,
        }


async def test_look_shows_the_observation_and_takes_no_turn(http: httpx.AsyncClient):
    path = await opened(http)
    opening = "Say stop. This is episode 0. Seed 1."
    assert await result(http, path, call("look", {})) == {
        "content": [{"type": "text", "text": f"{opening}\n\nAdmissible actions:\nsay\nstop"}],
        "structuredContent": {"result": opening, "available_actions": ["say", "stop"]},
        "isError": False,
        "_meta": {"agentevol/turn": 0, "agentevol/state": "open"},
    }
    await result(http, path, call("act", {"action": "stop"}))
    last = await result(http, path, call("look", None))  # it lists no actions at its end
    assert last["structuredContent"] == {"result": "1: stop"}
    assert last["content"] == [{"type": "text", "text": "1: stop"}]
    assert last["_meta"] == {"agentevol/turn": 1, "agentevol/state": "ended"}


async def test_an_unknown_method_is_an_error_with_status_200(http: httpx.AsyncClient):
    path = await opened(http)
    for method in ("server/discover", "resources/list", "tools/reset", "", "x" * 5000):
        assert await refusal(http, path, request(method)) == (200, -32601, 1)


def modern(method: str, **params: Any) -> dict[str, Any]:
    return request(method, {**params, "_meta": {**MODERN, **params.get("_meta", {})}})


async def test_discover_tells_versions_and_capabilities(http: httpx.AsyncClient):
    assert await result(http, await opened(http), modern("server/discover")) == {
        "supportedVersions": ["2026-07-28"],
        "capabilities": {"tools": {}},
        "serverInfo": SERVER,
        "ttlMs": 0,
        "cacheScope": "private",
        "resultType": "complete",
        "_meta": {"io.modelcontextprotocol/serverInfo": SERVER},
    }


async def test_every_modern_result_is_complete_and_names_the_server(http: httpx.AsyncClient):
    path = await opened(http)
    info = {"io.modelcontextprotocol/serverInfo": SERVER}
    assert await result(http, path, modern("ping")) == {"resultType": "complete", "_meta": info}
    listed = await result(http, path, modern("tools/list"))
    assert [tool["name"] for tool in listed.pop("tools")] == ["act", "look"]
    assert listed == {"ttlMs": 0, "cacheScope": "private", "resultType": "complete", "_meta": info}
    arguments = {"action": "hello"}
    called = await result(
        http, path, modern("tools/call", name="act", arguments=arguments, _meta={"agentevol/turn": 1})
    )
    assert called["resultType"] == "complete"
    assert called["_meta"] == {"agentevol/turn": 1, "agentevol/state": "open", **info}


async def test_a_version_that_is_not_spoken_is_told_with_those_that_are(http: httpx.AsyncClient):
    path = await opened(http)
    for version in ("2099-01-01", "2025-11-25", ""):
        params = {"_meta": {"io.modelcontextprotocol/protocolVersion": version}}
        reply = await http.post(path, json=request("tools/list", params))
        assert reply.status_code == 400
        assert reply.json()["error"] == {
            "code": -32022,
            "message": "unsupported protocol version",
            "data": {"supported": ["2026-07-28"], "requested": version},
        }


async def test_modern_errors_have_statuses(http: httpx.AsyncClient):
    path = await opened(http)
    assert await refusal(http, path, modern("initialize")) == (404, -32601, 1)
    assert await refusal(http, path, modern("tools/call", name="nope")) == (400, -32602, 1)
    assert await refusal(http, path, modern("tools/call", name="act", arguments={})) == (400, -32602, 1)
    odd = request("ping", {"_meta": {"io.modelcontextprotocol/protocolVersion": 20260728}})
    assert await refusal(http, path, odd) == (400, -32602, 1)
    await result(http, path, modern("tools/call", name="act", arguments={"action": "stop"}))
    over = modern("tools/call", name="act", arguments={"action": "more"})
    assert await refusal(http, path, over) == (200, -32000, 1)


async def test_a_header_must_not_contradict_the_body(http: httpx.AsyncClient):
    path = await opened(http)
    look = modern("tools/call", name="look")
    agreed = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "look"}
    assert (await http.post(path, json=look, headers=agreed)).status_code == 200
    for name in agreed:
        assert await refusal(http, path, look, agreed | {name: "other"}) == (400, -32020, 1)
    encoded = {"mcp-name": "=?base64?w7w=?="}  # of a name that no header can have
    assert await refusal(http, path, modern("tools/call", name="\u00fc"), encoded) == (400, -32602, 1)


async def test_an_unknown_version_header_is_refused_before_2026_too(http: httpx.AsyncClient):
    path = await opened(http)
    assert await refusal(http, path, request("ping"), {"mcp-protocol-version": "1900-01-01"}) == (
        400,
        -32022,
        1,
    )
    reply = await http.post(path, json=request("ping"), headers={"mcp-protocol-version": "2025-06-18"})
    assert reply.json()["result"] == {}


async def problem(http: httpx.AsyncClient, path: str, message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Slug and members of the problem in an error of code -32000."""
    reply = await http.post(path, json=message)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (200, -32000)
    assert error["data"]["instance"] == path
    assert "reward" not in error["data"]
    return error["data"]["type"].removeprefix("urn:agentevol:problem:"), error["data"]


async def test_a_call_with_its_turn_is_played_once(http: httpx.AsyncClient):
    path = await opened(http)
    first = await result(http, path, call("act", {"action": "hello"}, turn=1))
    assert await result(http, path, call("act", {"action": "hello"}, turn=1)) == first
    assert (await result(http, path, call("act", {"action": "you"}, turn=2)))["structuredContent"] == {
        "result": "2: hello you"
    }


async def test_a_call_without_a_turn_is_another_turn(http: httpx.AsyncClient):
    path = await opened(http)
    for turn in (1, 2, 3):
        repeated = await result(http, path, call("act", {"action": "a"}))
        assert repeated["_meta"]["agentevol/turn"] == turn


async def test_a_conflict_is_told_as_the_problem_that_rest_has(http: httpx.AsyncClient):
    path = await opened(http)
    await result(http, path, call("act", {"action": "hello"}, turn=1))
    slug, members = await problem(http, path, call("act", {"action": "other"}, turn=1))
    assert (slug, members["status"], members["turn"]) == ("action-mismatch", 409, 1)
    slug, members = await problem(http, path, call("act", {"action": "hello"}, turn=5))
    assert (slug, members["expected_turn"], members["given_turn"]) == ("turn-conflict", 2, 5)


async def test_after_the_end_a_call_is_refused(http: httpx.AsyncClient):
    path = await opened(http)
    await result(http, path, call("act", {"action": "stop"}))
    slug, members = await problem(http, path, call("act", {"action": "more"}))
    assert (slug, members["state"]) == ("session-ended", "ended")


async def test_calls_at_once_are_one_turn_after_another(http: httpx.AsyncClient):
    path = await opened(http, "slow")
    replies = await asyncio.gather(*(result(http, path, call("act", {"action": "0.01"})) for _ in range(4)))
    assert sorted(reply["_meta"]["agentevol/turn"] for reply in replies) == [1, 2, 3, 4]


async def test_a_broken_environment_is_a_problem_and_no_result(http: httpx.AsyncClient):
    path = await opened(http, "mischief")
    slug, members = await problem(http, path, call("act", {"action": "raise"}))
    assert (slug, members["failure"]["kind"]) == ("internal", "internal")
    assert "secret" not in json.dumps(members)
    for message in (call("act", {"action": "hello"}), call("look", {}), request("tools/list")):
        assert (await problem(http, path, message))[0] == "session-failed"
    assert await result(http, path, request("ping")) == {}


async def test_a_closed_session_says_so_and_an_unknown_one_is_404(http: httpx.AsyncClient):
    path = await opened(http)
    await http.delete(path.removesuffix("/mcp"))
    assert (await problem(http, path, call("act", {"action": "hello"})))[0] == "session-closed"
    for name in ("s_AAAAAAAAAAAAAAAAAAAAAAAA", "x", "%00", "..%2f..", "s_" + "a" * 500):
        reply = await http.post(f"/sessions/{name}/mcp", json=request("ping"))
        assert (reply.status_code, reply.headers["content-type"]) == (404, "application/problem+json")
    assert reply.json()["type"] == "urn:agentevol:problem:session-not-found"
    assert len(reply.json()["session_id"]) == 256


async def test_every_call_renews_the_lease():
    now = 0.0
    app = create_app(WORLDS, settings=ServerSettings(), clock=lambda: now)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        path = await opened(http, lease_ttl_s=10)
        messages = [request("ping"), request("tools/list"), call("look", {}), call("act", {"action": "a"})]
        for message in [*messages, {"jsonrpc": "2.0", "method": "notifications/initialized"}]:
            now += 9
            assert (await http.post(path, json=message)).status_code in (200, 202)
        now += 9
        assert (await http.get(path.removesuffix("/mcp"))).json()["state"] == "open"
        now += 2
        assert (await problem(http, path, call("look", {})))[0] == "session-expired"


async def test_tools_of_an_environment_are_listed_under_their_names(http: httpx.AsyncClient):
    listed = await result(http, await opened(http, "tooled"), request("tools/list"))
    assert [tool["name"] for tool in listed["tools"]] == ["weather", "broken", "note", "done"]
    assert listed["tools"][0] == {
        "name": "weather",
        "description": "To weather.",
        "inputSchema": WEATHER,
    }
    assert listed["tools"][1]["inputSchema"] == {"type": "object", "properties": {}}


async def test_a_tool_call_is_an_action_and_its_value_the_result(http: httpx.AsyncClient):
    path = await opened(http, "tooled")
    assert await result(http, path, call("weather", {"city": "Oslo", "days": 2}, turn=1)) == {
        "content": [{"type": "text", "text": '[{"city": "Oslo", "days": 2}]'}],
        "structuredContent": {"result": [{"city": "Oslo", "days": 2}]},
        "isError": False,
        "_meta": {"agentevol/turn": 1, "agentevol/state": "open"},
    }
    history = (await http.get(path.removesuffix("/mcp"), params={"history": "true"})).json()["history"]
    action = {"type": "tool_call", "name": "weather", "arguments": {"city": "Oslo", "days": 2}}
    assert [row["action"] for row in history] == [action]
    note = await result(http, path, call("note", None))
    assert (note["structuredContent"], note["isError"]) == ({"result": "noted"}, False)


async def test_a_tool_that_fails_is_a_result_that_says_so(http: httpx.AsyncClient):
    failed = await result(http, await opened(http, "tooled"), call("broken", {}))
    assert failed["isError"] is True
    assert failed["structuredContent"] == {"error": {"code": "tool_error", "message": "no"}}


async def test_an_inadmissible_action_is_a_result_that_says_so():
    class Strict(Echo):
        def step(self, action: str) -> StepResult:
            return StepResult(observation=Observation(text="What?"), info={"invalid_action": True})

    app = create_app({"strict": Strict}, settings=ServerSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        answered = await result(http, await opened(http, "strict"), call("act", {"action": "?"}))
    assert (answered["content"][0]["text"], answered["isError"]) == ("What?", True)


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [
        ("weather", {}, "/city"),
        ("weather", {"city": 5}, "/city"),
        ("weather", {"city": "Oslo", "days": True}, "/days"),
        ("weather", {"city": "Oslo", "days": 1.5}, "/days"),
        ("weather", {"city": "Oslo", "days": "1"}, "/days"),
        ("weather", {"city": None}, "/city"),
        ("weather", {"city": "Oslo", "unit": "K"}, "/unit"),
        ("weather", {"city": "Oslo", "a/b~": 1}, "/a~1b~0"),
        ("weather", {"city": "x" * 70_000}, ""),
        ("act", {}, "/action"),
        ("act", {"action": None}, "/action"),
        ("act", {"action": ["look"]}, "/action"),
        ("act", {"action": "a", "turn": 3}, "/turn"),
        ("act", {"action": "a" * 65_537}, "/action"),
        ("look", {"at": "me"}, "/at"),
    ],
)
async def test_arguments_that_do_not_fit_are_named_and_take_no_turn(
    http: httpx.AsyncClient, name: str, arguments: Any, path: str
):
    endpoint = await opened(http, "tooled" if name == "weather" else "echo")
    reply = await http.post(endpoint, json=call(name, arguments))
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (200, -32602)
    assert [fault["path"] for fault in error["data"]["errors"]] == [path]
    assert (await http.get(endpoint.removesuffix("/mcp"))).json()["turn"] == 0


@pytest.mark.parametrize(
    "name",
    ["", "reset", "close", "act ", "ACT", "../act", "look\n", "\u00fc", "\0", "n" * 9000, 5, None, ["act"]],
)
async def test_an_odd_tool_name_is_an_unknown_tool(http: httpx.AsyncClient, name: Any):
    for env in ("echo", "tooled"):
        path = await opened(http, env)
        assert await refusal(http, path, call(name, {})) == (200, -32602, 1)
        assert (await http.get(path.removesuffix("/mcp"))).json()["turn"] == 0


@pytest.mark.parametrize("tools", [None, ()])
async def test_a_call_of_a_tool_that_is_gone_is_repeated_by_its_turn_only(tools: Any):
    class Once(Tooled):
        def step(self, action: str) -> StepResult:
            return StepResult(observation=Observation(text="used up", tools=tools))

    app = create_app({"once": Once}, settings=ServerSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        path = await opened(http, "once")
        first = await result(http, path, call("note", {}, turn=1))
        assert await result(http, path, call("note", {}, turn=1)) == first
        assert (await problem(http, path, call("done", {}, turn=1)))[0] == "action-mismatch"
        assert await refusal(http, path, call("note", {}, turn=2)) == (200, -32602, 1)
        assert await refusal(http, path, call("note", {})) == (200, -32602, 1)


async def test_tools_that_go_with_the_episode_leave_the_turn_rules(http: httpx.AsyncClient):
    path = await opened(http, "tooled")
    last = await result(http, path, call("done", {}, turn=1))
    assert last["_meta"]["agentevol/state"] == "ended"
    assert (await problem(http, path, call("weather", {"city": "Oslo"})))[0] == "session-ended"
    assert await result(http, path, call("done", {}, turn=1)) == last


async def test_a_batch_of_2025_03_26_is_answered_in_order(http: httpx.AsyncClient):
    path = await opened(http)
    items = [
        request("ping", request_id="a"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        call("act", {"action": "one"}),
        call("act", {"action": "two"}),
        request("initialize", {"protocolVersion": "2025-03-26"}, request_id=7),
        5,
    ]
    for headers in ({}, {"mcp-protocol-version": "2025-03-26"}):
        reply = await http.post(path, json=items, headers=headers)
        assert reply.status_code == 200
        answers = reply.json()
        assert [answer["id"] for answer in answers] == ["a", 1, 1, 7, None]
        assert [answer.get("error", {}).get("code") for answer in answers] == [
            None,
            None,
            None,
            -32600,
            -32600,
        ]
    assert answers[2]["result"]["structuredContent"] == {"result": "4: one two one two"}


async def test_a_batch_of_notifications_gets_202(http: httpx.AsyncClient):
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    reply = await http.post(await opened(http), json=[notification, notification])
    assert (reply.status_code, reply.content) == (202, b"")


async def test_other_revisions_have_no_batches(http: httpx.AsyncClient):
    path = await opened(http)
    for version in ("2025-06-18", "2025-11-25", "2026-07-28"):
        headers = {"mcp-protocol-version": version}
        assert await refusal(http, path, [request("ping")], headers) == (400, -32600, None)
    (answer,) = (await http.post(path, json=[modern("ping")])).json()
    assert answer["error"]["code"] == -32600


async def test_an_empty_batch_and_one_too_long_are_refused(http: httpx.AsyncClient):
    path = await opened(http)
    assert await refusal(http, path, []) == (400, -32600, None)
    assert await refusal(http, path, [request("ping")] * 257) == (400, -32600, None)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "id": 2}',
        b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\\ud800"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "\xff"}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": ' + b'{"a":' * 70 + b"1" + b"}" * 71,
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "method": "ping", "id": ' + b"9" * 5000 + b"}",
    ],
)
async def test_a_body_that_is_no_json_is_a_parse_error(http: httpx.AsyncClient, body: bytes):
    assert await refusal(http, await opened(http), body) == (400, -32700, None)


@pytest.mark.parametrize(
    "body",
    [
        None,
        5,
        "ping",
        True,
        {},
        {"jsonrpc": "2.0"},
        {"method": "ping"},
        {"jsonrpc": "1.0", "method": "ping"},
        {"jsonrpc": 2.0, "method": "ping"},
        {"jsonrpc": "2.0", "method": 5},
        {"jsonrpc": "2.0", "method": None},
        {"jsonrpc": "2.0", "result": {}},
        *({"jsonrpc": "2.0", "id": bad, "method": "ping"} for bad in (None, True, 1.5, 1.0, [], {}, [1])),
    ],
)
async def test_what_is_no_message_is_an_invalid_request(http: httpx.AsyncClient, body: Any):
    assert await refusal(http, await opened(http), body) == (400, -32600, None)


async def test_an_invalid_request_keeps_the_id_that_it_has(http: httpx.AsyncClient):
    path = await opened(http)
    assert await refusal(http, path, {"jsonrpc": "1.0", "id": 9, "method": "ping"}) == (400, -32600, 9)


async def test_params_are_objects_or_absent(http: httpx.AsyncClient):
    path = await opened(http)
    for params in (5, "x", [], [1], True, {"_meta": []}, {"_meta": "x"}):
        assert await refusal(http, path, request("tools/list", params)) == (200, -32602, 1)
        notification = {"jsonrpc": "2.0", "method": "notifications/initialized", "params": params}
        assert await refusal(http, path, notification) == (400, -32602, None)
    for params in ({}, {"_meta": None}):
        assert "tools" in await result(http, path, request("tools/list", params))
    assert "tools" in await result(http, path, {**request("tools/list"), "params": None})
    assert await refusal(http, path, request("tools/list", {"cursor": "2"})) == (200, -32602, 1)
    for arguments in (5, "x", [], True):
        assert await refusal(http, path, call("look", arguments)) == (200, -32602, 1)
    assert await refusal(http, path, request("tools/call")) == (200, -32602, 1)


@pytest.mark.parametrize("turn", ["1", True, 1.0, 0, -1, 2**31, None, [], {}])
async def test_a_turn_that_is_none_is_a_bad_argument(http: httpx.AsyncClient, turn: Any):
    path = await opened(http)
    reply = await http.post(path, json=call("act", {"action": "a"}, turn=turn))
    assert reply.json()["error"]["code"] == -32602
    assert reply.json()["error"]["data"]["errors"][0]["path"] == "/turn"


async def test_other_methods_of_http_are_refused(http: httpx.AsyncClient):
    path = await opened(http)
    for method in ("GET", "DELETE", "PUT", "PATCH", "HEAD"):
        reply = await http.request(method, path)
        assert (reply.status_code, reply.headers["allow"]) == (405, "OPTIONS, POST")
    assert (await http.get(path.removesuffix("/mcp"))).json()["state"] == "open"


async def test_a_body_of_another_media_type_or_too_large_is_refused(http: httpx.AsyncClient):
    path = await opened(http)
    for media_type in ("text/plain", "application/json; charset=latin-1", ""):
        reply = await http.post(path, content=b"{}", headers={"content-type": media_type})
        assert (reply.status_code, reply.headers["content-type"]) == (415, "application/problem+json")
    reply = await http.post(path, json=call("act", {"action": "a" * (1 << 20)}))
    assert reply.status_code == 413


async def test_an_agent_may_call_tools_but_not_begin_sessions():
    async with client(host="0.0.0.0", token="top", agent_token="low") as http:
        http.headers["authorization"] = "Bearer top"
        path = await opened(http)
        http.headers["authorization"] = "Bearer low"
        assert await result(http, path, request("ping")) == {}
        assert (await http.post("/envs/echo/sessions", json={})).status_code == 403
        del http.headers["authorization"]
        assert (await http.post(path, json=request("ping"))).status_code == 401


async def test_a_foreign_origin_is_refused(http: httpx.AsyncClient):
    path = await opened(http)
    reply = await http.post(path, json=request("ping"), headers={"origin": "http://evil.example"})
    assert reply.status_code == 403
