"""`sotopia` from the registry through every door of a server: REST, batches, MCP, OpenEnv, and two seats."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from support.server.local_socket import LocalSocket
from support.server.openenv import client, reset, step
from support.sotopia_models import act, say
from support.sotopia_profiles import write_profiles

from agentgym_client import EnvClient
from agentgym_envs.core import StepResult
from agentgym_envs.registry import environment_class, make
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.thinking import render
from agentgym_server import create_app

TASK = "test/price/1/3"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FastAPI:
    """A server with the invented profiles."""
    import_official(write_profiles(tmp_path / "source"), tmp_path / "home")
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "home"))
    return create_app({"sotopia": environment_class("sotopia")})


@pytest.fixture
async def http(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    async with client(app) as http:
        yield http


@pytest.fixture
def expected() -> tuple[list[str], list[StepResult]]:
    """Messages of the demonstrating player, and what they lead to in process."""
    world = make("sotopia")
    task = world.task(TASK)
    plan = world.demonstrate(task, 5)
    world.reset(task, 5)
    return plan, [world.step(message) for message in plan]  # type: ignore[misc] - nothing is waited for


async def test_rest_tells_what_is_served_and_plays_an_episode(
    http: httpx.AsyncClient, expected: tuple[list[str], list[StepResult]]
) -> None:
    (entry,) = (await http.get("/envs")).json()["envs"]
    assert (entry["env"], entry["seats"], entry["deterministic"]) == ("sotopia", ["first", "second"], True)
    assert entry["splits"] == {"train": 1_800_000, "valid": 18_000, "test": 36_000, "verifiable": 4}
    assert entry["default_max_turns"] == 20
    hard = (await http.get("/envs/sotopia/tasks", params={"split": "hard"})).json()
    assert [(one["task_id"], one["difficulty"]) for one in hard["tasks"]] == [
        ("sotopia/0", "hard"),
        ("sotopia/3", "hard"),
    ]
    plan, results = expected
    begun = (await http.post("/envs/sotopia/sessions", json={"task_id": TASK, "seed": 5})).json()
    for turn, (message, wanted) in enumerate(zip(plan, results, strict=True), start=1):
        path = f"/sessions/{begun['session_id']}/steps"
        reply = (await http.post(path, json={"turn": turn, "action": message})).json()
        assert (reply["observation"], reply["reward"]) == (wanted.observation.text, wanted.reward)
    assert reply["info"]["dimensions"] == results[-1].info["dimensions"]
    assert reply["info"]["label"].startswith("rule-based partner and outcome verifier; not Sotopia's judge")
    view = (await http.get(f"/sessions/{begun['session_id']}")).json()
    assert view["outcome"] == ("truncated" if results[-1].truncated else "terminated")


async def test_rest_refuses_what_needs_a_model_with_the_option_to_give(http: httpx.AsyncClient) -> None:
    refused = await http.post("/envs/sotopia/sessions", json={"task_id": "sotopia/1"})
    assert (refused.status_code, refused.json()["type"]) == (
        501,
        "urn:agentevol:problem:unsupported-operation",
    )
    assert "give judge_model=NAME and judge_url=URL" in refused.json()["detail"]
    listed = await http.get("/envs/sotopia/tasks", params={"split": "all"})
    assert (listed.status_code, "take the split 'verifiable'" in listed.json()["detail"]) == (501, True)


async def test_a_fork_goes_on_as_its_parent(http: httpx.AsyncClient) -> None:
    begun = (await http.post("/envs/sotopia/sessions", json={"task_id": TASK, "seed": 5})).json()
    parent = begun["session_id"]
    await http.post(f"/sessions/{parent}/steps", json={"turn": 1, "action": say("Hello.")})
    fork = (await http.post(f"/sessions/{parent}/fork", json={})).json()["session_id"]
    body = {"turn": 2, "action": say("Well?")}
    one, other = [(await http.post(f"/sessions/{key}/steps", json=body)).json() for key in (parent, fork)]
    assert one["observation"] == other["observation"]


async def test_mcp_plays_an_episode(
    http: httpx.AsyncClient, expected: tuple[list[str], list[StepResult]]
) -> None:
    plan, results = expected
    begun = (await http.post("/envs/sotopia/sessions", json={"task_id": TASK, "seed": 5})).json()

    async def called(action: str) -> dict[str, Any]:
        params = {"name": "act", "arguments": {"action": action}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        return (await http.post(f"/sessions/{begun['session_id']}/mcp", json=body)).json()["result"]

    malformed = await called("[OFFER 7]")
    assert (malformed["isError"], malformed["_meta"]["agentevol/state"]) == (True, "open")
    for message, wanted in zip(plan, results, strict=True):
        assert (await called(message))["structuredContent"] == {"result": wanted.observation.text}


async def test_openenv_plays_an_episode(app: FastAPI, expected: tuple[list[str], list[StepResult]]) -> None:
    plan, results = expected
    async with LocalSocket(app, "/openenv/sotopia/ws") as socket:
        await reset(socket, seed=5, task_id=TASK)
        for message, wanted in zip(plan, results, strict=True):
            data = (await step(socket, message))["data"]
            assert (data["observation"]["text"], data["reward"]) == (wanted.observation.text, wanted.reward)
        assert data["done"]
        assert data["observation"]["info"]["dimensions"] == results[-1].info["dimensions"]


async def test_what_an_agent_thinks_in_ampos_modes_is_not_said() -> None:
    app = create_app({"sotopia": lambda: make("sotopia", actions="text")})
    thought = render(2, ("She wants 90.", "friendly", "offer half"), "I can meet you halfway.")
    async with client(app) as http:
        body = {"task_id": TASK, "seed": 5, "seats": 2, "format": "modes"}
        first = (await http.post("/envs/sotopia/sessions", json=body)).json()
        action = {"turn": 1, "action": {"type": "completion", "text": thought}}
        waiting = asyncio.create_task(http.post(f"/sessions/{first['session_id']}/steps", json=action))
        path = f"/sessions/{first['partners'][0]['session_id']}"
        heard = (await http.get(path, headers={"prefer": "wait=10"})).json()["observation"]
        assert heard.endswith('said: "I can meet you halfway."')
        assert "She wants 90." not in heard
        await http.delete(path)
        await waiting


@pytest.mark.parametrize("order", ["round-robin", "simultaneous", "random"])
async def test_two_seats_over_the_server_are_those_in_process(order: str) -> None:
    world = make("sotopia", order=order)
    app = create_app({"sotopia": lambda: make("sotopia", order=order)})
    messages = [say("Hello."), say("[OFFER 70]"), "?", act("action", "nods"), say("[OFFER 80]"), act("leave")]
    seen: dict[str, list[Any]] = {seat: [] for seat in world.seats}
    counts = dict.fromkeys(world.seats, 0)
    acting: dict[str, Any] = dict(world.reset_seats(world.task(TASK), 4))
    while acting:
        chosen = {seat: messages[counts[seat] % len(messages)] for seat in acting}
        counts.update({seat: counts[seat] + 1 for seat in acting})
        results: dict[str, Any] = dict(world.step_seats(chosen))  # type: ignore[arg-type] - nothing is waited for
        for seat, one in results.items():
            seen[seat].append((one.observation.text, one.reward, one.terminated, one.info.get("dimensions")))
        acting = {seat: one for seat, one in results.items() if not (one.terminated or one.truncated)}

    async def play(session: Any, seat: str) -> None:
        found: list[Any] = [((await session.await_turn()).text)]
        for number in range(counts[seat]):
            one = await session.step(messages[number % len(messages)])
            found.append((one.observation.text, one.reward, one.terminated, one.info.get("dimensions")))
        # What a seat that did not begin read first is a result in process, and its first observation here.
        expected = seen[seat][-counts[seat] :] if counts[seat] else []
        assert found[1:] == expected

    async with EnvClient("http://localhost", transport=httpx.ASGITransport(app)) as served:
        sessions = await served.open_seats("sotopia", TASK, seed=4)
        await asyncio.gather(*(play(one, seat) for one, seat in zip(sessions, world.seats, strict=True)))
