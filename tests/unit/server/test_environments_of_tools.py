"""Environments of tools, as REST, MCP and OpenEnv describe and call them."""

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from support.server.environments import Echo

from agentgym_envs.core import Environment
from agentgym_envs.registry import make
from agentgym_server import ServerSettings, create_app

Json = dict[str, Any]
NAMES = ("assistant", "movie", "sheet", "todo", "weather")
DESKS = ("tau-airline", "tau-mock", "tau-retail", "tau-telecom")
WORLDS: dict[str, Callable[[], Environment[Any]]] = {
    **{name: lambda name=name: make(name) for name in (*NAMES, *DESKS)},
    "dialogue": lambda: make("tau-retail", user="stub"),
    "told": lambda: make("weather", tools_in="text"),
    "echo": Echo,
}


@pytest.fixture
def app() -> FastAPI:
    return create_app(WORLDS, settings=ServerSettings())


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


async def opened(http: httpx.AsyncClient, env: str) -> Json:
    return (await http.post(f"/envs/{env}/sessions", json={"task_id": "test/0"})).json()


async def asked(http: httpx.AsyncClient, session: Json, method: str, **params: Any) -> Json:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return (await http.post(f"/sessions/{session['session_id']}/mcp", json=message)).json()


@pytest.mark.parametrize("env", NAMES)
async def test_the_catalogue_has_their_tools(http: httpx.AsyncClient, env: str):
    assert (await http.get(f"/envs/{env}")).json()["capabilities"]["tools"] is True
    declared = (await http.get(f"/envs/{env}/schema")).json()["tools"]
    offered = await opened(http, env) if env != "assistant" else await of_office(http)
    assert len(offered["tools"]) > 8
    assert all(tool in declared for tool in offered["tools"])
    actions = Draft202012Validator((await http.get(f"/openenv/{env}/schema")).json()["action"])
    assert actions.is_valid({"type": "call_tool", "tool_name": "finish", "arguments": {}})
    assert actions.is_valid({"type": "list_tools"})


@pytest.mark.parametrize("env", DESKS)
async def test_what_ends_an_episode_is_listed_in_every_dialect(http: httpx.AsyncClient, env: str):
    declared = (await http.get(f"/envs/{env}/schema")).json()["tools"]
    task = make(env).tasks("test")[0].id
    session = (await http.post(f"/envs/{env}/sessions", json={"task_id": task})).json()
    assert session["tools"] == declared
    names = {tool["function"]["name"] for tool in declared}
    assert names >= ({"done"} if env == "tau-telecom" else {"reply", "done"})
    listed = (await asked(http, session, "tools/list"))["result"]["tools"]
    assert {tool["name"] for tool in listed} == names
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/list",
        "params": {"session_id": session["session_id"]},
    }
    answer = (await http.post(f"/openenv/{env}/mcp", json=body)).json()
    assert {tool["name"] for tool in answer["result"]["tools"]} == names


async def test_mcp_has_a_tool_to_speak_where_there_is_a_user(http: httpx.AsyncClient):
    task = make("tau-retail").tasks("test")[0].id
    session = (await http.post("/envs/dialogue/sessions", json={"task_id": task})).json()
    names = [tool["function"]["name"] for tool in session["tools"]]
    listed = (await asked(http, session, "tools/list"))["result"]["tools"]
    assert [tool["name"] for tool in listed] == [*names, "say"]
    wrong = (await asked(http, session, "tools/call", name="say", arguments={"text": "Hi"}))["error"]
    assert wrong["code"] == -32602
    said = (await asked(http, session, "tools/call", name="say", arguments={"message": "Hello."}))["result"]
    assert said["structuredContent"] == {"result": said["content"][0]["text"]}
    assert (said["isError"], said["_meta"]["agentevol/turn"]) == (False, 1)
    path = f"/sessions/{session['session_id']}/steps"  # a repeated turn with the same action is its reply
    repeated = (await http.post(path, json={"turn": 1, "action": "Hello."})).json()
    assert repeated["observation"] == said["content"][0]["text"]


async def test_nobody_is_spoken_to_where_there_is_no_user(http: httpx.AsyncClient):
    task = make("tau-retail").tasks("test")[0].id
    session = (await http.post("/envs/tau-retail/sessions", json={"task_id": task})).json()
    error = (await asked(http, session, "tools/call", name="say", arguments={"message": "Hi"}))["error"]
    assert error == {"code": -32602, "message": "Unknown tool: say"}


async def of_office(http: httpx.AsyncClient) -> Json:
    """A session whose task has the tools of some applications only."""
    task = make("assistant").tasks("test")[0]
    session = (await http.post("/envs/assistant/sessions", json={"task_id": task.id})).json()
    declared = (await http.get("/envs/assistant/schema")).json()["tools"]
    assert len(session["tools"]) < len(declared) == 49
    return session


@pytest.mark.parametrize("env", ["echo", "told"])
async def test_without_schemas_there_are_no_tools(http: httpx.AsyncClient, env: str):
    assert (await http.get(f"/envs/{env}")).json()["capabilities"]["tools"] is False
    assert (await http.get(f"/envs/{env}/schema")).json()["tools"] is None
    actions = Draft202012Validator((await http.get(f"/openenv/{env}/schema")).json()["action"])
    assert not actions.is_valid({"type": "list_tools"})


async def test_mcp_tells_which_tools_only_read(http: httpx.AsyncClient):
    session = await opened(http, "todo")
    listed = (await asked(http, session, "tools/list"))["result"]["tools"]
    assert {tool["name"]: tool["annotations"] for tool in listed} == {
        "get_user_current_date": {"readOnlyHint": True},
        "get_user_current_location": {"readOnlyHint": True},
        "get_projects": {"readOnlyHint": True},
        "update_project": {"readOnlyHint": False},
        "get_tasks": {"readOnlyHint": True},
        "get_task_description": {"readOnlyHint": True},
        "get_task_duration": {"readOnlyHint": True},
        "complete_task": {"readOnlyHint": False},
        "update_task": {"readOnlyHint": False},
        "delete_task": {"readOnlyHint": False},
        "check_valid_actions": {"readOnlyHint": True},
        "finish": {"readOnlyHint": False},
    }
    functions = [tool["function"] for tool in session["tools"]]
    assert [set(function) for function in functions] == [{"name", "description", "parameters"}] * 12


@pytest.mark.parametrize(
    ("env", "tool", "arguments"),
    [
        ("todo", "update_project", {"project_id": "4011", "is_favorite": "True"}),
        ("todo", "update_project", {"project_id": "4011", "is_favorite": "false"}),
        ("weather", "get_air_quality_level", {"air_quality_index": "20.5"}),
        ("sheet", "get_A1_annotation", {"row": 2.0, "col": 1}),
        ("sheet", "filter_cells", {"query": "x", "in_row": None}),
    ],
)
async def test_mcp_and_openenv_take_the_arguments_that_a_step_takes(
    http: httpx.AsyncClient, env: str, tool: str, arguments: Json
):
    if tool == "filter_cells":  # a sheet has to be open
        name = next(iter(make("sheet").begin(make("sheet").task("test/0"), 0).sheets))  # type: ignore[attr-defined]
        opening = {"type": "tool_call", "name": "open_sheet", "arguments": {"name": name}}
    else:
        opening = {"type": "tool_call", "name": "check_valid_actions", "arguments": {}}
    by_step, by_mcp = [await opened(http, env) for _ in range(2)]
    for session in (by_step, by_mcp):
        await http.post(f"/sessions/{session['session_id']}/steps", json={"turn": 1, "action": opening})
    action = {"type": "tool_call", "name": tool, "arguments": arguments}
    stepped = await http.post(f"/sessions/{by_step['session_id']}/steps", json={"turn": 2, "action": action})
    seen = stepped.json()["observation"]
    assert "error" not in seen
    called = (await asked(http, by_mcp, "tools/call", name=tool, arguments=arguments))["result"]
    assert (called["content"][0]["text"], called["isError"]) == (seen, False)
    body = {"session_id": by_mcp["session_id"], "name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": body}
    answer = (await http.post(f"/openenv/{env}/mcp", json=message)).json()
    assert (answer["result"]["data"], answer["result"]["isError"]) == (json.loads(seen), False)


@pytest.mark.parametrize(
    ("env", "tool", "arguments", "path"),
    [
        ("todo", "update_project", {"project_id": "4011", "is_favorite": "maybe"}, "/is_favorite"),
        ("todo", "update_project", {"project_id": "4011", "is_favorite": None}, "/is_favorite"),
        ("todo", "update_project", {"project_id": "4011"}, "/is_favorite"),
        ("weather", "get_air_quality_level", {"air_quality_index": "twenty"}, "/air_quality_index"),
        ("weather", "get_air_quality_level", {"air_quality_index": 5, "unit": "EAQI"}, "/unit"),
        ("sheet", "get_A1_annotation", {"row": "2", "col": 1}, "/row"),
        ("sheet", "get_A1_annotation", {"row": 2.5, "col": 1}, "/row"),
    ],
)
async def test_mcp_refuses_what_a_step_refuses(
    http: httpx.AsyncClient, env: str, tool: str, arguments: Json, path: str
):
    session = await opened(http, env)
    error = (await asked(http, session, "tools/call", name=tool, arguments=arguments))["error"]
    assert (error["code"], [fault["path"] for fault in error["data"]["errors"]]) == (-32602, [path])
    action = {"type": "tool_call", "name": tool, "arguments": arguments}
    stepped = await http.post(f"/sessions/{session['session_id']}/steps", json={"turn": 1, "action": action})
    assert json.loads(stepped.json()["observation"])["error"]["code"] == "invalid_arguments"


async def test_an_unknown_tool_is_named(http: httpx.AsyncClient):
    session = await opened(http, "weather")
    error = (await asked(http, session, "tools/call", name="verify", arguments={}))["error"]
    assert error == {"code": -32602, "message": "Unknown tool: verify"}
