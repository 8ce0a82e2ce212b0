"""The policy service at its door: what is refused and how, who may what, new weights, hostile input."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.policy_service import CHATML, ScriptedEngine, running, save_tokenizer
from support.server.leaving import LeavingCaller

from agentevol.service import completions
from agentevol.service.app import App
from agentevol.service.service import Service
from agentevol.service.settings import BODY_BYTES, ServiceSettings
from agentgym_server.settings import ServerSettings
from agentgym_store.store import Store

ASK = {"role": "user", "content": "Make a guess."}
NAMED = {"name": "look"}
TOOL = {"type": "function", "function": NAMED}
NO_TEXT = {"name": "look", "arguments": {}}
CHAT = "/v1/chat/completions"
TOKENS = {"admin": "a-secret", "trainer": "t-secret", "agent": "g-secret"}


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(lambda _: "4")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
async def served(engine: ScriptedEngine, table: Path) -> AsyncGenerator[tuple[Service, httpx.AsyncClient]]:
    async with running(engine, table, ServiceSettings(update_wait_s=0)) as both:
        yield both


@pytest.fixture
def client(served: tuple[Service, httpx.AsyncClient]) -> httpx.AsyncClient:
    return served[1]


async def begun(client: httpx.AsyncClient, **options: Any) -> str:
    return (await client.post("/sessions", json={"task_id": "t"}, **options)).json()["session_id"]


async def updating(client: httpx.AsyncClient) -> None:
    """Wait until new weights are on their way."""
    for _ in range(1000):
        if (await client.get("/health")).json()["status"] == "updating":
            return
        await asyncio.sleep(0.001)
    raise AssertionError("no update")


def error(reply: httpx.Response) -> tuple[int, str, str | None]:
    """Status, code and param, of an error that has the shape of OpenAI's."""
    assert set(reply.json()) == {"error"}
    assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
    return reply.status_code, reply.json()["error"]["code"], reply.json()["error"]["param"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ([], None),
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": ["hello"]}, "messages[0]"),
        ({"messages": [{"content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user"}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages[0].content[0]"),
        ({"messages": [{"role": "user", "content": "x", "colour": "red"}]}, "messages[0].colour"),
        ({"messages": [{"role": "user", "content": "x", "name": 1}]}, "messages[0].name"),
        ({"messages": [{"role": "user", "content": "x", "tool_calls": [1]}]}, "messages[0].tool_calls"),
        ({"messages": [ASK, {"role": "assistant", "content": "4"}]}, "messages[1].role"),
        (
            {"messages": [{"role": "assistant", "tool_calls": [{"function": NO_TEXT}]}, ASK]},
            "messages[0].tool_calls[0].function.arguments",
        ),
        ({"messages": [ASK], "temperature": -1}, "temperature"),
        ({"messages": [ASK], "temperature": "hot"}, "temperature"),
        ({"messages": [ASK], "top_p": 0}, "top_p"),
        ({"messages": [ASK], "max_tokens": 0}, "max_tokens"),
        ({"messages": [ASK], "max_tokens": 1.5}, "max_tokens"),
        ({"messages": [ASK], "n": 17}, "n"),
        ({"messages": [ASK], "seed": 2**64}, "seed"),
        ({"messages": [ASK], "frequency": 1}, "frequency"),
        ({"messages": [ASK], "stop": ["x"]}, "stop"),
        ({"messages": [ASK], "presence_penalty": 0.5}, "presence_penalty"),
        ({"messages": [ASK], "logit_bias": {"5": 1}}, "logit_bias"),
        ({"messages": [ASK], "response_format": {"type": "json_object"}}, "response_format"),
        ({"messages": [ASK], "tool_choice": "required"}, "tool_choice"),
        ({"messages": [ASK], "parallel_tool_calls": False}, "parallel_tool_calls"),
        ({"messages": [ASK], "stream_options": {}}, "stream_options"),
        ({"messages": [ASK], "tools": [{}]}, "tools[0]"),
        ({"messages": [ASK], "tools": [{**TOOL, "function": {"name": "a b"}}]}, "tools[0].function.name"),
        ({"messages": [ASK], "tools": [TOOL] * 129}, "tools"),
    ],
)  # fmt: skip
async def test_what_cannot_be_carried_out_is_refused_by_name(client, engine, body, param):
    reply = await client.post(CHAT, json=body)
    status, _, named = error(reply)
    assert (status, named) == (400, param)
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert engine.asked == []


async def test_values_that_ask_for_nothing_are_let_through(client):
    neutral = {
        "stop": None,
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "response_format": {"type": "text"},
        "tool_choice": "auto",
        "parallel_tool_calls": True,
        "top_logprobs": None,
        "tools": None,
        "user": "me",
        "metadata": {"a": "b"},
        "store": False,
    }
    reply = await client.post(CHAT, json={"messages": [ASK], **neutral})
    assert reply.json()["choices"][0]["message"] == {"role": "assistant", "content": "4"}


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b'{"messages": NaN}', "invalid_json"),
        (b'{"messages": [], "messages": []}', "invalid_json"),
        (b"[" * 100, "invalid_json"),
        (b'{"messages": "\xff"}', "invalid_json"),
        (rb'{"messages": [{"role": "user", "content": "\ud800"}]}', "invalid_json"),
        (b'{"seed": ' + b"9" * 5000 + b"}", "invalid_json"),
        (b'"messages"', "invalid_value"),
    ],
)
async def test_what_is_no_json_object_is_refused(client, content, code):
    reply = await client.post(CHAT, content=content, headers={"content-type": "application/json"})
    assert error(reply)[:2] == (400, code)


async def test_huge_bodies_and_other_types_are_refused(client):
    json_type = {"content-type": "application/json"}
    assert error(await client.post(CHAT, content=b"{}"))[:2] == (415, "unsupported_media_type")
    reply = await client.post(CHAT, content=b" " * (BODY_BYTES + 1), headers=json_type)
    assert error(reply)[:2] == (413, "payload_too_large")

    async def endless():
        while True:
            yield b" " * 65536

    reply = await client.post(CHAT, content=endless(), headers=json_type)
    assert error(reply)[:2] == (413, "payload_too_large")


async def test_a_long_conversation_is_rendered_while_others_are_answered(served, monkeypatch):
    service, client = served
    template, threads = service.weights.template, list[str]()
    prompt = template.prompt

    def noted(*given: Any) -> list[int]:
        threads.append(threading.current_thread().name)
        return prompt(*given)

    monkeypatch.setattr(template, "prompt", noted)
    for length in (10, completions.LONG - 1, completions.LONG):
        await client.post(CHAT, json={"messages": [{"role": "user", "content": "x" * length}]})
    assert [name == threading.main_thread().name for name in threads] == [True, True, False]


async def test_what_does_not_fit_into_the_context_is_refused(client):
    reply = await client.post(CHAT, json={"messages": [{"role": "user", "content": "x" * 100_000}]})
    assert error(reply) == (400, "context_length_exceeded", "messages")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/", 404, "not_found"),
        ("GET", "/sessions/", 404, "not_found"),
        ("GET", "/sessions/s_x/v1", 404, "not_found"),
        ("GET", CHAT, 405, "method_not_allowed"),
        ("DELETE", "/sessions", 405, "method_not_allowed"),
        ("GET", "/sessions/s_unknown", 404, "session_not_found"),
        ("GET", "/sessions/s_unknown/trace", 404, "session_not_found"),
        ("GET", "/sessions/%2e%2e/v1/models", 404, "session_not_found"),
    ],
)
async def test_paths_that_are_not_there(client, method, path, status, code):
    assert error(await client.request(method, path))[:2] == (status, code)


@pytest.mark.parametrize(
    "body",
    [
        *({}, {"task_id": ""}, {"task_id": "a\nb"}, {"task_id": "x" * 257}, {"task_id": 7}),
        {"task_id": "t", "seed": -1},
        {"task_id": "t", "seed": 2**53},
        {"task_id": "t", "seed": True},
        {"task_id": "t", "env": ""},
        {"task_id": "t", "metadata": {"a": 1}},
        {"task_id": "t", "metadata": {str(n): "x" for n in range(17)}},
        {"task_id": "t", "lease_ttl_s": 0},
        {"task_id": "t", "instructions": "x"},
    ],
)
async def test_a_session_that_makes_no_sense_is_refused(client, body):
    assert error(await client.post("/sessions", json=body))[0] == 400


async def test_errors_repeat_little_of_what_was_sent(client):
    reply = await client.post(CHAT, json={"messages": [ASK], "x" * 5000: 1})
    assert len(reply.content) < 1000


async def test_who_may_what(engine, table):
    server = ServerSettings(
        token=TOKENS["admin"], trainer_token=TOKENS["trainer"], agent_token=TOKENS["agent"]
    )

    def bearer(who: str) -> dict[str, str]:
        return {"authorization": f"Bearer {TOKENS.get(who, who)}"}

    async with running(engine, table, ServiceSettings(server=server)) as (_, client):
        assert (await client.get("/health")).json() == {"status": "healthy"}
        stranger = await client.post("/sessions", json={"task_id": "t"}, headers=bearer("wrong"))
        assert error(stranger)[:2] == (401, "invalid_api_key")
        assert stranger.headers["www-authenticate"].startswith("Bearer")
        session = await begun(client, headers=bearer("trainer"))
        base, chat = f"/sessions/{session}", {"messages": [ASK]}
        allowed = {
            who: [
                (await client.request(method, path, json=body, headers=bearer(who))).status_code
                for method, path, body in (
                    ("POST", f"{base}/v1/chat/completions", chat),
                    ("GET", f"{base}/v1/models", None),
                    ("POST", f"{base}/reward", {"reward": 1}),
                    ("GET", f"{base}/trace", None),
                    ("POST", CHAT, chat),
                    ("POST", "/sessions", {"task_id": "t"}),
                    ("POST", "/update", {"model": "/no/such"}),
                    ("GET", "/metrics", None),
                    ("POST", f"{base}/end", {"outcome": "won"}),
                )
            ]
            for who in TOKENS
        }
    assert allowed == {
        "admin": [200, 200, 200, 200, 200, 201, 400, 200, 400],
        "trainer": [200, 200, 200, 200, 200, 201, 400, 403, 400],
        "agent": [200, 200, 403, 403, 403, 403, 403, 403, 403],
    }


async def test_other_sites_may_not_call_a_service_on_loopback(client):
    for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        reply = await client.post("/sessions", json={"task_id": "t"}, headers=headers)
        assert error(reply)[:2] == (403, "forbidden_origin")


async def test_a_broken_engine_is_no_reward_and_no_turn(client, engine, table):
    session = await begun(client)
    engine.broken = "it is gone"
    path = f"/sessions/{session}/v1/chat/completions"
    reply = await client.post(path, json={"messages": [ASK]})
    assert (error(reply)[:2], reply.json()["error"]["type"]) == ((502, "engine_error"), "server_error")
    engine.broken = None
    assert (await client.post(path, json={"messages": [ASK]})).headers["x-agentevol-call"] == "2"
    await client.post(f"/sessions/{session}/end", json={"outcome": "terminated", "success": True})
    (episode,) = Store.open(table).trajectories()
    assert [turn.info["call"] for turn in episode.turns] == [2]


async def test_an_engine_that_does_not_answer_has_failed(engine, table):
    engine.free.clear()
    async with running(engine, table, ServiceSettings(call_timeout_s=0.01)) as (_, client):
        reply = await client.post(CHAT, json={"messages": [ASK]})
    assert error(reply)[:2] == (502, "engine_error")
    assert engine.acting == {}


async def test_too_many_calls_at_once_are_sent_away(engine, table):
    engine.free.clear()
    settings = ServiceSettings(server=ServerSettings(max_in_flight=2))
    async with running(engine, table, settings) as (_, client):
        waiting = [asyncio.create_task(client.post(CHAT, json={"messages": [ASK]})) for _ in range(2)]
        await engine.asked_for(2)
        refused = await client.post(CHAT, json={"messages": [ASK]})
        assert error(refused)[:2] == (429, "too_many_in_flight")
        assert refused.headers["retry-after"] == "1"
        engine.free.set()
        assert [reply.status_code for reply in await asyncio.gather(*waiting)] == [200, 200]


async def test_a_reply_that_nobody_waited_for_is_traced_and_never_a_turn(served, engine, table):
    service, client = served
    session = await begun(client)
    engine.free.clear()
    body = json.dumps({"messages": [ASK], "stream": True}).encode()
    caller = LeavingCaller(f"/sessions/{session}/v1/chat/completions", body)
    call = asyncio.create_task(caller.call(App(service)))
    await engine.asked_for(1)
    caller.hang_up()
    await asyncio.sleep(0.01)
    engine.free.set()
    await call
    (record,) = [
        json.loads(line) for line in (await client.get(f"/sessions/{session}/trace")).text.splitlines()
    ]
    assert (record["finish_reason"], record["turns"]) == ("client_disconnect", [])
    reward = await client.post(f"/sessions/{session}/reward", json={"reward": 1})
    assert error(reward)[:2] == (409, "no_call")
    await client.post(f"/sessions/{session}/v1/chat/completions", json={"messages": [ASK]})  # the retry
    await client.post(f"/sessions/{session}/end", json={"outcome": "terminated", "success": True})
    (episode,) = Store.open(table).trajectories()
    assert [turn.info["call"] for turn in episode.turns] == [2]


async def test_new_weights_are_swapped_in_and_calls_say_which_they_had(client, tmp_path):
    session = await begun(client)
    path = f"/sessions/{session}/v1/chat/completions"
    first = (await client.post(path, json={"messages": [ASK]})).json()["choices"][0]["message"]
    done = await client.post("/update", json={"model": str(save_tokenizer(tmp_path / "better"))})
    assert done.json() == {"model": "better", "policy_version": 1}
    await client.post(path, json={"messages": [ASK, first, ASK]})
    records = [
        json.loads(line) for line in (await client.get(f"/sessions/{session}/trace")).text.splitlines()
    ]
    assert [record["policy_version"] for record in records] == [0, 1]
    assert [record["extends"] for record in records] == [None, 1]
    assert (await client.get("/health")).json()["policy_version"] == 1
    again = await client.post("/update", json={"model": str(tmp_path / "better")})
    assert again.json()["policy_version"] == 2  # every swap counts up, whatever the folder


async def test_calls_during_an_update_are_sent_away_and_those_under_way_end(client, engine, tmp_path):
    engine.free.clear()
    under_way = asyncio.create_task(client.post(CHAT, json={"messages": [ASK]}))
    await engine.asked_for(1)
    update = asyncio.create_task(
        client.post("/update", json={"model": str(save_tokenizer(tmp_path / "better"))})
    )
    await updating(client)
    refused = await client.post(CHAT, json={"messages": [ASK]})
    assert error(refused)[:2] == (503, "weights_updating")
    assert refused.headers["retry-after"] == "1"
    assert (await client.get("/health")).json()["status"] == "updating"
    assert error(await client.post("/update", json={"model": "starter"}))[:2] == (409, "update_in_progress")
    engine.free.set()
    assert (await under_way).status_code == 200
    assert (await update).status_code == 200
    assert (await client.post(CHAT, json={"messages": [ASK]})).status_code == 200


async def test_a_call_waits_for_new_weights_where_it_may(engine, table, tmp_path):
    async with running(engine, table) as (_, client):
        engine.free.clear()
        under_way = asyncio.create_task(client.post(CHAT, json={"messages": [ASK]}))
        await engine.asked_for(1)
        better = str(save_tokenizer(tmp_path / "better"))
        update = asyncio.create_task(client.post("/update", json={"model": better}))
        await updating(client)
        session = await begun(client)
        waiting = asyncio.create_task(
            client.post(f"/sessions/{session}/v1/chat/completions", json={"messages": [ASK]})
        )
        await asyncio.sleep(0.01)
        assert len(engine.asked) == 1
        engine.free.set()
        assert [reply.status_code for reply in await asyncio.gather(under_way, update, waiting)] == [200] * 3
        (record,) = (await client.get(f"/sessions/{session}/trace")).text.splitlines()
    assert json.loads(record)["policy_version"] == 1


async def test_weights_that_cannot_be_used_leave_the_old_ones(client, tmp_path):
    other = save_tokenizer(tmp_path / "other", CHATML)
    for model, words in (
        ("/no/such", "no model '/no/such'"),
        (str(tmp_path), "neither a model folder"),
        (str(other), "another tokenizer or chat template"),
        ("a\x00b", "NUL"),
    ):
        reply = await client.post("/update", json={"model": model})
        assert error(reply)[0::2] == (400, "model")
        assert words in reply.json()["error"]["message"]
    assert (await client.get("/health")).json()["policy_version"] == 0
    assert (await client.post(CHAT, json={"messages": [ASK]})).status_code == 200


async def test_what_is_counted(client):
    session = await begun(client)
    path = f"/sessions/{session}/v1/chat/completions"
    for content in ("a", "b"):
        await client.post(path, json={"messages": [{"role": "user", "content": content}]})
    await client.post(path, json={"messages": []})
    await client.post(CHAT, json={"messages": [ASK]})
    await client.post(f"/sessions/{session}/end", json={"outcome": "cancelled"})
    text = (await client.get("/metrics")).text
    for line in (
        'agentevol_capture_calls_total{result="ok"} 2.0',
        'agentevol_capture_calls_total{result="refused"} 1.0',
        'agentevol_plain_calls_total{result="ok"} 1.0',
        "agentevol_capture_forks_total 1.0",
        'agentevol_tokens_total{kind="sampled"} 6.0',
        "agentevol_sessions_created_total 1.0",
        'agentevol_sessions_finished_total{outcome="cancelled"} 1.0',
        "agentevol_sessions_active 0.0",
        "agentevol_policy_version 0.0",
        "agentevol_call_seconds_count 3.0",
    ):
        assert line in text.splitlines()
    assert session not in text


async def test_after_an_update_that_failed_for_whatever_reason_nothing_is_sampled(
    client, engine, tmp_path, monkeypatch
):
    def broken(_: object) -> None:
        raise KeyError("a bug on the way")

    monkeypatch.setattr(engine, "update", broken)
    done = await client.post("/update", json={"model": str(save_tokenizer(tmp_path / "better"))})
    assert error(done)[:2] == (502, "engine_error")
    reply = await client.post(CHAT, json={"messages": [ASK]})
    assert error(reply)[:2] == (502, "engine_error")
    health = await client.get("/health")
    assert (health.status_code, health.json()["status"]) == (503, "failed")
