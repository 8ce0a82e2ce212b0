"""The turn rules, row by row: what a step request gets, and that the environment acts once per turn."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.server.environments import CheapMischief, Echo, Slow

from agentgym_server import ServerSettings, create_app

WORLDS = {"echo": Echo, "slow": Slow, "mischief": CheapMischief}
SETTINGS = ServerSettings(stored_replies=2, stored_reply_bytes=0)


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(WORLDS, settings=SETTINGS)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


async def opened(http: httpx.AsyncClient, env: str = "echo", **body: Any) -> str:
    reply = await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", **body})
    assert reply.status_code == 201
    return reply.json()["session_id"]


async def step(http: httpx.AsyncClient, session: str, turn: int, action: Any) -> httpx.Response:
    return await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})


def slug(reply: httpx.Response) -> str:
    assert reply.headers["content-type"] == "application/problem+json"
    assert reply.json()["status"] == reply.status_code
    return reply.json()["type"].removeprefix("urn:agentevol:problem:")


async def test_an_expected_turn_is_played_once_and_reported_in_full(http: httpx.AsyncClient):
    session = await opened(http)
    reply = await step(http, session, 1, "hello")
    body = reply.json()
    assert reply.status_code == 200
    assert body.pop("lease")["ttl_s"] == 600
    assert body == {
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


async def test_a_repeated_turn_is_answered_byte_for_byte_and_not_replayed(http: httpx.AsyncClient):
    session = await opened(http)
    first = await step(http, session, 1, "hello")
    again = await step(http, session, 1, "hello")
    assert again.content == first.content
    assert again.headers["idempotent-replay"] == "true"
    assert "idempotent-replay" not in first.headers
    assert (await step(http, session, 2, "you")).json()["observation"] == "2: hello you"


async def test_a_repeat_is_answered_after_the_episode_ended(http: httpx.AsyncClient):
    session = await opened(http)
    last = await step(http, session, 1, "stop")
    assert last.json()["state"] == "ended"
    assert (await step(http, session, 1, "stop")).content == last.content


async def test_another_action_for_a_completed_turn_is_a_mismatch(http: httpx.AsyncClient):
    session = await opened(http)
    await step(http, session, 1, "hello")
    reply = await step(http, session, 1, "goodbye")
    assert (reply.status_code, slug(reply), reply.json()["turn"]) == (409, "action-mismatch", 1)


async def test_actions_are_compared_as_json_values(http: httpx.AsyncClient):
    session = await opened(http)
    call = {"type": "tool_call", "name": "f", "arguments": {"a": 1, "b": [True]}}
    await step(http, session, 1, call)
    same = {"arguments": {"b": [True], "a": 1}, "name": "f", "type": "tool_call"}
    other = {"type": "tool_call", "name": "f", "arguments": {"a": True, "b": [1]}}
    assert (await step(http, session, 1, same)).status_code == 200
    assert slug(await step(http, session, 1, other)) == "action-mismatch"


async def test_a_reply_that_is_no_longer_stored_is_a_conflict(http: httpx.AsyncClient):
    session = await opened(http)
    for turn in (1, 2, 3):
        await step(http, session, turn, "hm")
    reply = await step(http, session, 1, "hm")
    assert (reply.status_code, slug(reply)) == (409, "turn-conflict")
    assert reply.json()["reason"] == "reply-evicted"
    assert (await step(http, session, 2, "hm")).status_code == 200


async def test_a_turn_ahead_of_the_expected_one_is_a_conflict(http: httpx.AsyncClient):
    session = await opened(http)
    reply = await step(http, session, 3, "hello")
    assert (reply.status_code, slug(reply)) == (409, "turn-conflict")
    assert (reply.json()["expected_turn"], reply.json()["given_turn"]) == (1, 3)
    assert reply.json()["instance"] == f"/sessions/{session}/steps"
    assert reply.json()["retryable"] is False


async def test_the_same_step_while_it_runs_is_played_once(http: httpx.AsyncClient):
    session = await opened(http, "slow")
    replies = await asyncio.gather(*(step(http, session, 1, "0.05") for _ in range(3)))
    assert {reply.content for reply in replies} == {replies[0].content}
    assert replies[0].json()["observation"] == "step 1"
    assert (await step(http, session, 2, "0")).json()["observation"] == "step 2"


async def test_another_action_while_a_step_runs_is_a_mismatch(http: httpx.AsyncClient):
    session = await opened(http, "slow")
    running = asyncio.create_task(step(http, session, 1, "0.05"))
    await asyncio.sleep(0.01)
    assert slug(await step(http, session, 1, "0.01")) == "action-mismatch"
    assert slug(await step(http, session, 2, "0.01")) == "turn-conflict"
    assert (await running).status_code == 200


async def test_a_step_whose_caller_went_away_is_finished_and_stored(http: httpx.AsyncClient):
    session = await opened(http, "slow")
    running = asyncio.create_task(step(http, session, 1, "0.03"))
    await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.sleep(0.05)
    reply = await step(http, session, 1, "0.03")
    assert reply.headers["idempotent-replay"] == "true"
    assert reply.json()["observation"] == "step 1"


async def test_a_new_turn_of_an_ended_episode_is_refused(http: httpx.AsyncClient):
    session = await opened(http)
    await step(http, session, 1, "stop")
    reply = await step(http, session, 2, "more")
    assert (reply.status_code, slug(reply), reply.json()["state"]) == (409, "session-ended", "ended")


@pytest.mark.parametrize("mischief", ["raise", "nan", "lie"])
async def test_a_failed_step_has_no_reward_and_its_repeat_the_same_problem(
    http: httpx.AsyncClient, mischief: str
):
    session = await opened(http, "mischief")
    await step(http, session, 1, "hello")
    failed = await step(http, session, 2, mischief)
    assert (failed.status_code, slug(failed)) == (500, "internal")
    assert "reward" not in failed.json()
    assert failed.json()["failure"]["kind"] == "internal"
    assert failed.json()["failure"]["turn"] == 2
    assert "secret" not in failed.text
    assert (await step(http, session, 2, mischief)).content == failed.content


async def test_a_failed_session_refuses_other_steps_and_still_answers_completed_ones(http: httpx.AsyncClient):
    session = await opened(http, "mischief")
    first = await step(http, session, 1, "hello")
    await step(http, session, 2, "raise")
    reply = await step(http, session, 2, "other")
    assert (reply.status_code, slug(reply)) == (409, "session-failed")
    assert reply.json()["failure"]["kind"] == "internal"
    assert (await step(http, session, 1, "hello")).content == first.content


async def test_the_incident_of_a_failure_is_in_the_log(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
):
    session = await opened(http, "mischief")
    incident = (await step(http, session, 1, "raise")).json()["incident"]
    assert f"incident {incident}" in caplog.text
    assert "told to raise, at /secret/path" in caplog.text


async def test_a_closed_session_is_gone(http: httpx.AsyncClient):
    session = await opened(http)
    await step(http, session, 1, "hello")
    await http.delete(f"/sessions/{session}")
    reply = await step(http, session, 1, "hello")
    assert (reply.status_code, slug(reply), reply.json()["state"]) == (410, "session-closed", "closed")


async def test_closing_cancels_a_running_step(http: httpx.AsyncClient):
    session = await opened(http, "slow")
    running = asyncio.create_task(step(http, session, 1, "5"))
    await asyncio.sleep(0.01)
    closed = await http.delete(f"/sessions/{session}")
    assert closed.json() == {"session_id": session, "state": "closed", "outcome": "cancelled"}
    assert slug(await running) == "session-closed"


async def test_a_coroutine_past_its_deadline_fails_its_session(http: httpx.AsyncClient):
    session = await opened(http, "slow")
    body = {"turn": 1, "action": "5", "deadline_s": 0.02}
    reply = await http.post(f"/sessions/{session}/steps", json=body)
    assert (reply.status_code, slug(reply)) == (504, "step-timeout")
    assert reply.json()["failure"] == {
        "kind": "step-timeout",
        "turn": 1,
        "message": "no answer within 0.02 s",
    }


async def test_the_last_turn_truncates_and_says_why(http: httpx.AsyncClient):
    session = await opened(http, max_turns=2)
    assert (await step(http, session, 1, "a")).json()["truncated"] is False
    last = (await step(http, session, 2, "b")).json()
    assert (last["truncated"], last["terminated"], last["state"]) == (True, False, "ended")
    assert last["info"]["truncation_reason"] == "max_turns"


async def test_an_end_in_the_last_turn_is_the_worlds_own(http: httpx.AsyncClient):
    session = await opened(http, max_turns=1)
    last = (await step(http, session, 1, "stop")).json()
    assert (last["truncated"], last["terminated"]) == (False, True)
    assert "truncation_reason" not in last["info"]


async def test_a_completion_is_parsed_by_the_sessions_format(http: httpx.AsyncClient):
    react = await opened(http, format="react")
    message = {"type": "completion", "text": "Thought:\nWhy not?\n\nAction:\n say it </s>"}
    assert (await step(http, react, 1, message)).json()["observation"] == "1: say it"
    plain = await opened(http)
    assert (await step(http, plain, 1, {"type": "completion", "text": " hm "})).json()[
        "observation"
    ] == "1: hm"
    assert (await step(http, plain, 2, {"type": "text", "text": " x "})).json()["observation"] == "2: hm  x "
