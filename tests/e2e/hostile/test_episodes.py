"""Hostile play: turns out of turn, sessions that are gone, worlds that break, hoarding, and batches."""

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

LONG = "\u0416" * 5000
BODIES = {
    "steps": {"turn": 1, "action": "a"},
    "fork": {},
    "lease": {},
}


def steps_of(session: str) -> str:
    return f"/sessions/{session}/steps"


TURNS = {
    "a turn too far": (["a"], {"turn": 3, "action": "b"}, 409, "turn-conflict"),
    "the last turn there is": (["a"], {"turn": 2**31 - 1, "action": "b"}, 409, "turn-conflict"),
    "another action": (["a"], {"turn": 1, "action": "b"}, 409, "action-mismatch"),
    "equal text, other kind": (["a"], {"turn": 1, "action": {"type": "text", "text": "a"}}, 409, None),
    "after the end": (["stop"], {"turn": 2, "action": "a"}, 409, "session-ended"),
    "far after the end": (["stop"], {"turn": 9, "action": "a"}, 409, "turn-conflict"),
    "the end otherwise": (["stop"], {"turn": 1, "action": "a"}, 409, "action-mismatch"),
}


@pytest.mark.parametrize("name", TURNS)
def test_a_turn_out_of_turn_is_a_conflict(server, sound: Callable[..., None], name: str):
    played, body, status, slug = TURNS[name]
    path = steps_of(server.open())
    for turn, action in enumerate(played, 1):
        assert server.call("POST", path, json={"turn": turn, "action": action}).status == 200
    answer = server.call("POST", path, json=body)
    sound(answer)
    assert (answer.status, answer.slug) == (status, slug or "action-mismatch")


GONE = {
    "unknown": ("s_0000000000000000000000000000", 404, "session-not-found"),
    "closed": (None, 410, "session-closed"),
}


@pytest.mark.parametrize("state", GONE)
@pytest.mark.parametrize("operation", BODIES)
def test_a_session_that_is_gone_stays_gone(server, sound: Callable[..., None], operation: str, state: str):
    session, status, slug = GONE[state]
    if session is None:
        session = server.open()
        server.call("DELETE", f"/sessions/{session}")
    answer = server.call("POST", f"/sessions/{session}/{operation}", json=BODIES[operation])
    sound(answer)
    assert (answer.status, answer.slug) == (status, slug)


def test_a_fork_has_its_own_turns_and_its_parents_replies_are_not_its_own(server, sound: Callable[..., None]):
    parent = server.open()
    server.call("POST", steps_of(parent), json={"turn": 1, "action": "a"})
    child = server.call("POST", f"/sessions/{parent}/fork").json()["session_id"]
    server.opened.append(child)
    answer = server.call("POST", steps_of(child), json={"turn": 1, "action": "a"})
    sound(answer)
    assert (answer.status, answer.json()["reason"]) == (409, "reply-evicted")
    assert server.call("POST", steps_of(child), json={"turn": 2, "action": "b"}).status == 200


BREAKING = {
    "raise": (500, "internal"),
    "exit": (502, "worker-lost"),
    "kill": (502, "worker-lost"),
    "hang": (504, "step-timeout"),
    "nan": (500, "internal"),
    "lie": (500, "internal"),
}


@pytest.mark.parametrize("action", BREAKING)
def test_a_world_that_breaks_fails_its_episode_and_nothing_else(
    server, sound: Callable[..., None], action: str
):
    server.may_complain = True
    path, other = steps_of(server.open("mischief")), steps_of(server.open("echo"))
    body = {"turn": 1, "action": action}
    answers = [server.call("POST", path, json=body) for _ in range(2)]
    for answer in answers:
        sound(answer)
        assert (answer.status, answer.slug) == BREAKING[action]
    assert server.call("POST", path, json={"turn": 2, "action": "a"}).slug == "session-failed"
    assert server.call("POST", other, json={"turn": 1, "action": "a"}).status == 200


def test_one_turn_asked_for_fifty_times_at_once_is_played_once(server):
    session = server.open("mischief")
    answers = server.call_at_once("POST", steps_of(session), [{"turn": 1, "action": "a"}] * 50)
    assert {answer.body for answer in answers} == {answers[0].body}
    assert server.call("GET", f"/sessions/{session}").json()["steps_executed"] == 1


def test_fifty_actions_for_one_turn_are_one_turn_and_conflicts(server):
    path = steps_of(server.open("mischief"))
    bodies = [{"turn": 1, "action": f"a{n}"} for n in range(50)]
    answers = server.call_at_once("POST", path, bodies)
    assert sorted(answer.status for answer in answers) == [200] + [409] * 49


def test_more_sessions_than_there_is_room_for_are_told_to_wait(server, sound: Callable[..., None]):
    for _ in range(40):
        server.open()
    answer = server.call("POST", "/envs/echo/sessions", json={"task_id": "train/0"})
    sound(answer)
    assert (answer.status, answer.slug, answer.headers["retry-after"]) == (503, "capacity", "1")
    assert (answer.json()["active_sessions"], answer.json()["retryable"]) == (40, True)


def test_an_episode_that_hoards_actions_is_cut(server):
    session = server.open("echo", max_turns=10_000)
    for turn in itertools.count(1):
        reply = server.call("POST", steps_of(session), json={"turn": turn, "action": "x" * 60_000}).json()
        if reply["truncated"]:
            break
    assert (turn, reply["info"]["truncation_reason"]) == (4, "session-bytes")


def test_an_idempotency_key_with_another_body_is_refused(server):
    headers, bodies = {"idempotency-key": "mine"}, [{"task_id": f"train/{n}"} for n in (0, 1)]
    made = server.call("POST", "/envs/echo/sessions", json=bodies[0], headers=headers)
    server.opened.append(made.json()["session_id"])
    answer = server.call("POST", "/envs/echo/sessions", json=bodies[1], headers=headers)
    assert (answer.status, answer.slug) == (422, "idempotency-key-reused")


ITEMS: dict[str, tuple[Any, int]] = {
    "null": (None, 422),
    "text": ("step", 422),
    "empty": ({}, 422),
    "no operation": ({"session_id": "s_x"}, 422),
    "unknown operation": ({"op": LONG}, 422),
    "operation of another type": ({"op": ["step"]}, 422),
    "nested batch": ({"op": "batch", "items": []}, 422),
    "method": ({"op": "__init__"}, 422),
    "no session": ({"op": "step", "turn": 1, "action": "a"}, 422),
    "unknown session": ({"op": "step", "session_id": "s_x", "turn": 1, "action": "a"}, 404),
    "session of another type": ({"op": "get", "session_id": {"a": 1}}, 422),
    "unknown environment": ({"op": "create", "env": LONG, "task_id": "train/0"}, 404),
    "unknown task": ({"op": "create", "env": "echo", "task_id": "x"}, 404),
    "member too many": ({"op": "health", "verbose": True}, 422),
    "key of another type": ({"op": "create", "env": "echo", "task_id": "train/0", "idempotency_key": 1}, 422),
    "endless wait": ({"op": "create", "env": "echo", "task_id": "train/0", "wait_s": 1e9}, 422),
    "page of another type": ({"op": "tasks", "env": "echo", "limit": "1"}, 422),
    "history of another type": ({"op": "get", "session_id": "s_x", "history": 1}, 404),
}


@pytest.mark.parametrize("name", ITEMS)
def test_a_bad_item_of_a_batch_harms_no_other(server, problem: Callable[..., None], name: str):
    item, status = ITEMS[name]
    session = server.open()
    good = {"op": "step", "session_id": session, "turn": 1, "action": "a"}
    answer = server.call("POST", "/batch", json={"items": [item, good, item]})
    first, second, third = answer.json()["results"]
    assert (answer.status, second["status"], second["result"]["observation"]) == (200, 200, "1: a")
    for result in (first, third):
        assert (result["ok"], result["status"]) == (False, status)
        problem(result["problem"], status, json.dumps(item, ensure_ascii=False))


def test_a_batch_of_one_item_too_many_is_refused_whole(server, sound: Callable[..., None]):
    items = [{"op": "health"}] * 257
    answer = server.call("POST", "/batch", json={"items": items})
    sound(answer)
    assert (answer.status, answer.json()["errors"][0]["path"]) == (422, "/items")
    assert len(server.call("POST", "/batch", json={"items": items[:256]}).json()["results"]) == 256
