"""What the policy service records of calls: ids as they were sampled, and which calls go on from which."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.policy_service import CHATML, ScriptedEngine, running

from agentevol.learn.batches.packing import episode_sequences
from agentevol.service.settings import ServiceSettings
from agentgym_store.records import Trajectory
from agentgym_store.store import Store

ASK = {"role": "user", "content": "Make a guess."}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}
CALL = '<tool_call>\n{"name": "look", "arguments": {"at": "desk"}}\n</tool_call>'


def script(prompt: str) -> str:
    """Counts the assistant's turns; calls a tool where one is offered and not yet answered."""
    if '"look"' in prompt and "<tool_response>" not in prompt:
        return f"I look.\n{CALL}"
    return f" turn {prompt.count('<|im_start|>assistant')}"


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine(script)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "table"


@pytest.fixture
async def client(engine: ScriptedEngine, table: Path) -> AsyncGenerator[httpx.AsyncClient]:
    async with running(engine, table) as (_, http):
        yield http


async def begun(client: httpx.AsyncClient, **more: object) -> str:
    created = await client.post("/sessions", json={"task_id": "t", **more})
    assert created.status_code == 201, created.text
    assert created.json()["base_url"] == f"http://127.0.0.1:8000/sessions/{created.json()['session_id']}/v1"
    return created.json()["session_id"]


async def said(client: httpx.AsyncClient, session: str, *messages: object, **more: object) -> dict[str, Any]:
    """The message of a reply."""
    reply = await client.post(
        f"/sessions/{session}/v1/chat/completions", json={"messages": [*messages], **more}
    )
    assert reply.status_code == 200, reply.text
    return reply.json()["choices"][0]["message"]


async def trace(client: httpx.AsyncClient, session: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (await client.get(f"/sessions/{session}/trace")).text.splitlines()]


async def ended(client: httpx.AsyncClient, session: str, table: Path) -> tuple[dict[str, Any], Trajectory]:
    """What the end of a success is answered, and what is in the table then."""
    done = await client.post(f"/sessions/{session}/end", json={"outcome": "terminated", "success": True})
    assert done.status_code == 200, done.text
    (episode,) = [t for t in Store.open(table).trajectories() if t.id == done.json()["episode_id"]]
    return done.json(), episode


def whole(record: dict[str, Any]) -> list[int]:
    return record["prompt_token_ids"] + record["token_ids"]


async def test_a_call_that_repeats_what_was_said_extends_its_ids(client, engine, table):
    session = await begun(client)
    first = await said(client, session, ASK)
    await said(client, session, ASK, first, {"role": "user", "content": "Higher."})
    one, two = await trace(client, session)
    assert two["prompt_token_ids"][: len(whole(one))] == whole(one)
    assert engine.renderer.tokenizer.decode(two["prompt_token_ids"][len(whole(one)) :]) == (
        "\n<|im_start|>user\nHigher.<|im_end|>\n<|im_start|>assistant\n"
    )
    assert (two["extends"], one["extends"]) == (1, None)
    summary, episode = await ended(client, session, table)
    assert (summary["turns"], summary["samples"]) == (2, 1)
    assert [turn.policy_s for turn in episode.turns] == [one["latency_s"], two["latency_s"]]
    assert [turn.environment_s for turn in episode.turns] == [None, None]
    (row,) = episode_sequences(episode, 1.0)
    assert row.drift_events == 0
    assert row.token_ids[row.mask].tolist() == one["token_ids"] + two["token_ids"]


async def test_what_was_sampled_is_kept_where_encoding_its_text_gives_other_ids(table):
    engine = ScriptedEngine(lambda _: "a")
    spoken = engine.renderer.tokenizer.encode("<|im_start|>", add_special_tokens=False)
    assert len(spoken) == 1
    letters = [engine.renderer.tokenizer.get_vocab()[letter] for letter in "<|im_start|>"]
    engine.renderer.action_ids = lambda _: [*letters, engine.renderer.end_id]  # type: ignore[method-assign]
    async with running(engine, table) as (_, client):
        session = await begun(client)
        first = await said(client, session, ASK)
        assert first["content"] == "<|im_start|>"  # what a tokenizer would make one special token of
        await said(client, session, ASK, first, ASK)
        one, two = await trace(client, session)
    assert two["prompt_token_ids"][: len(whole(one))] == whole(one)
    assert spoken[0] not in one["token_ids"]


@pytest.mark.parametrize(
    "echo",
    [
        {"role": "assistant", "content": "turn 1"},  # without the space around it
        {"role": "assistant", "content": [{"type": "text", "text": " turn 1"}]},
        {"role": "assistant", "content": " turn 1", "refusal": None, "annotations": [], "tool_calls": None},
    ],
)
async def test_what_frameworks_do_to_a_reply_does_not_matter(client, echo):
    session = await begun(client)
    await said(client, session, ASK)
    await said(client, session, ASK, echo, ASK)
    assert [record["extends"] for record in await trace(client, session)] == [None, 1]


@pytest.mark.parametrize(
    "history",
    [
        [ASK, {"role": "assistant", "content": "something else"}],
        [{"role": "user", "content": "Make a better guess."}, {"role": "assistant", "content": " turn 1"}],
        [{"role": "user", "content": "A summary of what was said."}],
    ],
)
async def test_a_rewritten_history_is_a_sample_of_its_own(client, table, history):
    session = await begun(client)
    await said(client, session, ASK)
    await said(client, session, *history, ASK)
    one, two = await trace(client, session)
    assert two["extends"] is None
    assert two["prompt_token_ids"][: len(whole(one))] != whole(one)
    assert (await client.get(f"/sessions/{session}")).json()["forks"] == 1
    summary, episode = await ended(client, session, table)
    assert (summary["turns"], summary["samples"]) == (2, 2)
    rows = episode_sequences(episode, 1.0)
    assert [row.drift_events for row in rows] == [1, 1]
    assert [row.token_ids[row.mask].tolist() for row in rows] == [one["token_ids"], two["token_ids"]]


async def test_a_history_that_goes_back_extends_what_it_goes_back_to(client):
    session = await begun(client)
    first = await said(client, session, ASK)
    second = await said(client, session, ASK, first, {"role": "user", "content": "Higher."})
    await said(client, session, ASK, first, {"role": "user", "content": "Lower."})
    long = [ASK, first, {"role": "user", "content": "Higher."}, second, {"role": "user", "content": "Yes."}]
    await said(client, session, *long)
    assert [record["extends"] for record in await trace(client, session)] == [None, 1, 1, 2]


async def test_other_tools_are_another_prompt(client):
    session = await begun(client)
    first = await said(client, session, ASK)
    await said(client, session, ASK, first, ASK, tools=[TOOL])
    assert [record["extends"] for record in await trace(client, session)] == [None, None]


async def test_of_several_choices_the_one_that_was_gone_on_from_is_the_turn(client, engine, table):
    texts = iter(["a", "b", "c", "d"])
    engine.script = lambda _: next(texts)
    session = await begun(client)
    reply = await client.post(
        f"/sessions/{session}/v1/chat/completions", json={"messages": [ASK], "n": 3, "stream": None}
    )
    assert [choice["message"]["content"] for choice in reply.json()["choices"]] == ["a", "b", "c"]
    assert reply.json()["usage"]["completion_tokens"] == 6
    await said(client, session, ASK, {"role": "assistant", "content": "b"}, ASK)
    assert [record["turns"] for record in await trace(client, session)] == [[], [1], [], [2]]
    assert len({seed for _, seed in engine.asked}) == 4
    _, episode = await ended(client, session, table)
    assert [turn.action for turn in episode.turns] == ["b", "d"]


async def test_a_call_says_how_it_was_sampled_and_what_was_decided_otherwise(client):
    session = await begun(client)
    await said(
        client, session, ASK, model="gpt-4o", temperature=0, top_p=0.5, max_completion_tokens=3, seed=1
    )
    (record,) = await trace(client, session)
    seed = record["sampling"].pop("seed")
    assert record["sampling"] == {"temperature": 1.0, "top_p": 1.0, "max_tokens": 3}
    assert seed != 1
    assert record["overrides"] == {
        "model": {"given": "gpt-4o", "used": "policy"},
        "temperature": {"given": 0, "used": 1.0},
        "top_p": {"given": 0.5, "used": 1.0},
        "seed": {"given": 1, "used": "the session's"},
    }
    assert (record["finish_reason"], record["exact"], record["policy_version"]) == ("length", True, 0)
    assert len(record["token_ids"]) == len(record["logprobs"]) == 3


async def test_a_reply_has_at_most_the_tokens_that_the_service_allows_and_that_fit(engine, table):
    engine.script, engine.context = (lambda _: "x" * 5000), 300
    async with running(engine, table, ServiceSettings(max_new_tokens=40)) as (_, client):
        session = await begun(client)
        await said(client, session, ASK, max_tokens=1000)
        await said(client, session, {"role": "user", "content": "y" * 200}, max_tokens=100)
        records = await trace(client, session)
        assert [len(record["token_ids"]) for record in records] == [40, 40]
        room = 300 - len(records[1]["prompt_token_ids"])
        await said(client, session, {"role": "user", "content": "y" * (200 + room - 7)})
        *_, third = await trace(client, session)
        assert len(third["token_ids"]) == 7
        assert third["overrides"] == {"max_tokens": {"given": 40, "used": 7}}
        refused = await client.post(
            f"/sessions/{session}/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "y" * 400}]},
        )
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")


async def test_equal_seeds_of_sessions_ask_the_engine_for_equal_draws(client, engine):
    for _ in range(2):
        session = await begun(client, seed=7)
        await said(client, session, ASK)
        await said(client, session, ASK)
    await said(client, await begun(client, seed=8), ASK)
    seeds = [seed for _, seed in engine.asked]
    assert seeds[:2] == seeds[2:4]
    assert len(set(seeds)) == 3


async def test_tools_reach_the_template_and_calls_come_back(client, engine, table):
    session = await begun(client)
    reply = await client.post(
        f"/sessions/{session}/v1/chat/completions", json={"messages": [ASK], "tools": [TOOL]}
    )
    (choice,) = reply.json()["choices"]
    assert (choice["finish_reason"], choice["message"]["content"]) == ("tool_calls", "I look.")
    (call,) = choice["message"]["tool_calls"]
    assert call["function"] == {"name": "look", "arguments": '{"at": "desk"}'}
    answer = {"role": "tool", "tool_call_id": call["id"], "content": "A lamp."}
    other = {
        **call,
        "id": "x",
        "function": {"name": "look", "arguments": '{"at":"desk"}'},
    }  # as SDKs write it
    await said(client, session, ASK, {**choice["message"], "tool_calls": [other]}, answer, tools=[TOOL])
    one, two = await trace(client, session)
    assert two["prompt_token_ids"][: len(whole(one))] == whole(one)
    added = engine.renderer.tokenizer.decode(two["prompt_token_ids"][len(whole(one)) :])
    assert added == (
        "\n<|im_start|>user\n<tool_response>A lamp.</tool_response><|im_end|>\n<|im_start|>assistant\n"
    )
    _, episode = await ended(client, session, table)
    assert [turn.action for turn in episode.turns] == [f"I look.\n{CALL}", " turn 2"]
    assert [turn.observation for turn in episode.turns] == ["A lamp.", ""]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("<tool_call>{no json}</tool_call>", {"tools": [TOOL]}),
        ('<tool_call>{"name": 7}</tool_call>', {"tools": [TOOL]}),
        (CALL + "<tool_call>", {"tools": [TOOL]}),
        (CALL, {"tools": [TOOL], "tool_choice": "none"}),
        (CALL, {}),
    ],
)
async def test_what_is_no_call_of_a_tool_is_text(client, engine, text, more):
    engine.script = lambda _: text
    reply = await said(client, await begun(client), ASK, **more)
    assert reply == {"role": "assistant", "content": text}


async def test_a_template_without_tools_refuses_them(table):
    async with running(ScriptedEngine(script, template=CHATML), table) as (_, client):
        session = await begun(client)
        for body, what in (
            ({"messages": [ASK], "tools": [TOOL]}, "tools"),
            ({"messages": [ASK, {"role": "assistant", "content": None, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}]}, ASK]},
             "tool_calls of assistants"),
        ):  # fmt: skip
            reply = await client.post(f"/sessions/{session}/v1/chat/completions", json=body)
            assert reply.status_code == 400
            assert reply.json()["error"]["code"] == "unsupported_by_template"
            assert f"no place for {what}" in reply.json()["error"]["message"]


async def test_strictness_of_tools_is_noted_as_not_had(client):
    session = await begun(client)
    strict = {"type": "function", "function": {**TOOL["function"], "strict": True}}  # type: ignore[dict-item]
    await said(client, session, ASK, tools=[strict])
    (record,) = await trace(client, session)
    assert record["overrides"] == {"strict": {"given": True, "used": False}}


async def test_a_stream_says_the_same_in_chunks(client):
    session = await begun(client)
    reply = await client.post(
        f"/sessions/{session}/v1/chat/completions",
        json={
            "messages": [ASK],
            "tools": [TOOL],
            "stream": True,
            "stream_options": {"include_usage": True},
            "logprobs": True,
        },
    )
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    *events, last, end = reply.text.split("\n\n")
    assert (last, end) == ("data: [DONE]", "")
    chunks = [json.loads(event.removeprefix("data: ")) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert [choice["delta"] for chunk in chunks for choice in chunk["choices"]] == [
        {"role": "assistant", "content": ""},
        {"content": "I look.", "tool_calls": chunks[1]["choices"][0]["delta"]["tool_calls"]},
        {},
    ]
    assert chunks[1]["choices"][0]["delta"]["tool_calls"][0]["index"] == 0
    assert [choice["finish_reason"] for chunk in chunks for choice in chunk["choices"]] == [
        *(None, None, "tool_calls"),
    ]
    (record,) = await trace(client, session)
    scores = chunks[1]["choices"][0]["logprobs"]["content"]
    assert [score["logprob"] for score in scores] == record["logprobs"]
    assert "".join(score["token"] for score in scores[:-1]) == f"I look.\n{CALL}"
    assert chunks[-1]["usage"]["completion_tokens"] == len(record["token_ids"])


async def test_ids_come_with_the_reply_only_where_they_are_asked_for(client):
    session = await begun(client)
    path, body = f"/sessions/{session}/v1/chat/completions", {"messages": [ASK]}
    plain = (await client.post(path, json=body)).json()
    assert set(plain) == {"id", "object", "created", "model", "choices", "usage"}
    assert set(plain["choices"][0]) == {"index", "message", "finish_reason", "logprobs"}
    asked = (await client.post(path, json={**body, "return_token_ids": True})).json()
    *_, record = await trace(client, session)
    assert asked["prompt_token_ids"] == record["prompt_token_ids"]
    assert asked["choices"][0]["token_ids"] == record["token_ids"]


async def test_calls_of_one_session_and_of_several_run_side_by_side(client, engine, table):
    engine.free.clear()
    sessions = [await begun(client) for _ in range(3)]
    calls = [
        asyncio.create_task(said(client, session, {"role": "user", "content": f"{n}"}))
        for session in sessions
        for n in range(2)
    ]
    await engine.asked_for(6)
    engine.free.set()
    await asyncio.gather(*calls)
    for session in sessions:
        summary, episode = await ended(client, session, table)
        assert (summary["turns"], summary["samples"]) == (2, 2)
        assert [turn.info["call"] for turn in episode.turns] == [1, 2]
    names = [name for name, _ in engine.asked]
    assert sorted(names) == sorted([*sessions, *(f"{session}/2" for session in sessions)])
    assert set(names) <= set(engine.released)


async def test_without_a_session_nothing_is_recorded_and_the_client_decides(client, engine, table):
    body = {"messages": [ASK], "temperature": 0, "top_p": 0.5, "seed": 3}
    for _ in range(2):
        reply = await client.post("/v1/chat/completions", json=body)
        assert reply.json()["choices"][0]["message"]["content"] == " turn 1"
        assert "x-agentevol-call" not in reply.headers
    assert len({seed for _, seed in engine.asked}) == 1
    assert engine.released == [name for name, _ in engine.asked]
    assert Store.open(table).count() == 0
    (model,) = (await client.get("/v1/models")).json()["data"]
    assert (model["id"], model["root"]) == ("policy", "scripted")
