"""OpenEnv's WebSocket: what is said on it, and what nobody should say."""

import json
from typing import Any

import pytest
from fastapi import FastAPI
from support.server.environments import CheapMischief, Echo, Slow
from support.server.local_socket import LocalSocket
from support.server.openenv import code, reset, step

from agentgym_server import ServerSettings, create_app
from agentgym_server.service import Service

WORLDS = {"echo": Echo, "slow": Slow, "mischief": CheapMischief}


@pytest.fixture
def app() -> FastAPI:
    return create_app(WORLDS, settings=ServerSettings(max_sessions=3))


async def test_an_episode_from_reset_to_done(echo: LocalSocket):
    assert echo.answer["type"] == "websocket.accept"
    data = {"seed": 1, "episode_id": "e1", "task_id": "test/0"}
    reply = await echo.ask({"type": "reset", "data": data})
    session = reply["data"]["metadata"]["session_id"]
    metadata = {"terminated": False, "truncated": False, "session_id": session, "turn": 0}
    observation = {
        "text": "Say stop. This is episode 0. Seed 1.",
        "info": {"available_actions": ["say", "stop"]},
        "metadata": metadata,
    }
    assert reply == {
        "type": "observation",
        "data": {"observation": observation, "reward": 0.0, "done": False, "metadata": metadata},
    }
    reply = await echo.ask({"type": "step", "data": {"text": "look"}})
    assert reply["data"]["observation"]["text"] == "1: look"
    assert (reply["data"]["reward"], reply["data"]["done"]) == (0.125, False)
    reply = await step(echo, "stop")
    metadata = {"terminated": True, "truncated": False, "session_id": session, "turn": 2}
    assert reply["data"] == {
        "observation": {"text": "2: look stop", "info": {}, "metadata": metadata},
        "reward": 1.0,
        "done": True,
        "metadata": metadata,
    }
    assert await echo.ask({"type": "state"}) == {
        "type": "state",
        "data": {
            "episode_id": "e1",
            "step_count": 2,
            "task_id": "test/0",
            "turn": 2,
            "terminated": True,
            "truncated": False,
        },
    }


async def test_the_turn_limit_is_done_too(echo: LocalSocket):
    await reset(echo)
    for _ in range(7):
        assert not (await step(echo, "a"))["data"]["done"]
    last = (await step(echo, "a"))["data"]
    assert (last["done"], last["metadata"]["terminated"], last["metadata"]["truncated"]) == (
        True,
        False,
        True,
    )
    assert last["observation"]["info"]["truncation_reason"] == "max_turns"


@pytest.mark.parametrize(
    ("data", "task"),
    [
        ({"seed": 4}, "train/1"),  # 4 % 3
        ({"seed": 4, "split": "test"}, "test/1"),
        ({"split": "test", "index": 2}, "test/2"),
        ({"index": 2}, "train/2"),
        ({"seed": 2, "index": 0, "task_id": "test/1"}, "test/1"),
        ({"seed": None, "task_id": "train/1", "difficulty": "none", "anything": [1]}, "train/1"),
    ],
)
async def test_a_reset_draws_its_task_by_seed_or_is_told(echo: LocalSocket, data: dict[str, Any], task: str):
    await reset(echo, **data)
    assert (await echo.ask({"type": "state"}))["data"]["task_id"] == task


async def test_a_seed_gives_the_same_episode_again(echo: LocalSocket):
    first, second = await reset(echo, seed=7), await reset(echo, seed=7)
    assert first["observation"]["text"] == second["observation"]["text"]
    assert first["observation"]["text"] == "Say stop. This is episode 1. Seed 7."
    texts = {(await reset(echo))["observation"]["text"] for _ in range(4)}
    assert len(texts) == 4  # without a seed, one is drawn


async def test_data_may_be_missing_in_a_reset(echo: LocalSocket):
    assert (await echo.ask('{"type":"reset"}'))["data"]["reward"] == 0.0


async def test_before_a_reset_the_state_is_empty(echo: LocalSocket):
    state = (await echo.ask({"type": "state"}))["data"]
    assert len(state.pop("episode_id")) == 32
    assert state == {"step_count": 0, "task_id": "", "turn": 0, "terminated": False, "truncated": False}


async def test_an_action_may_have_metadata(echo: LocalSocket):
    await reset(echo)
    reply = await echo.ask({"type": "step", "data": {"text": "hello", "metadata": {"tag": 1}}})
    assert reply["data"]["observation"]["text"] == "1: hello"


async def test_with_a_format_actions_are_completions(echo: LocalSocket):
    await reset(echo, task_id="train/0", format="react")
    reply = await step(echo, "Thought:\nwell\n\nAction:\nlook")
    assert reply["data"]["observation"]["text"] == "1: look"
    await reset(echo, task_id="train/0")
    assert (await step(echo, "Action: look"))["data"]["observation"]["text"] == "1: Action: look"


async def test_close_has_no_reply(echo: LocalSocket, service: Service):
    await reset(echo)
    echo.say({"type": "close"})
    assert await echo.closing() == 1000
    assert (service.registry.active, service.registry.capacity.taken) == (0, 0)


@pytest.mark.parametrize(
    ("frame", "expected", "message"),
    [
        ("not json", "INVALID_JSON", "Invalid JSON: Expecting value"),
        ("", "INVALID_JSON", "Invalid JSON: Expecting value"),
        ('{"type":"state","type":"state"}', "INVALID_JSON", "Invalid JSON: duplicate key"),
        ('{"type":"step","data":{"text":NaN}}', "INVALID_JSON", "Invalid JSON: NaN is not JSON"),
        ('{"type":"reset","data":{"seed":1e999}}', "INVALID_JSON", "Invalid JSON: number out of range"),
        ('{"a":' * 65 + "1" + "}" * 65, "INVALID_JSON", "Invalid JSON: nested deeper than 64"),
        (
            '{"type":"step","data":{"text":"\\ud800"}}',
            "INVALID_JSON",
            "Invalid JSON: unpaired surrogate escape",
        ),
        ('{"type":"zzz"}', "UNKNOWN_TYPE", "Unknown message type: zzz"),
        ("{}", "UNKNOWN_TYPE", "Unknown message type: "),
        ('{"type":5}', "UNKNOWN_TYPE", "Unknown message type: 5"),
        ('{"type":["step"]}', "UNKNOWN_TYPE", "Unknown message type: ['step']"),
        ('{"type":{"a":1}}', "UNKNOWN_TYPE", "Unknown message type: {'a': 1}"),
        ('{"type":"' + "z" * 9000 + '"}', "UNKNOWN_TYPE", "Unknown message type: " + "z" * 256),
        (
            '{"type":"step","data":{"text":"a"}}',
            "EXECUTION_ERROR",
            "there is no episode yet: send a reset first",
        ),
        ('{"type":"reset","data":{"task_id":"x/9"}}', "EXECUTION_ERROR", "no task has this id"),
        ('{"type":"reset","data":{"task_id":""}}', "EXECUTION_ERROR", "no task has this id"),
        (
            '{"type":"reset","data":{"split":"dev"}}',
            "EXECUTION_ERROR",
            "no split is named 'dev'; there are: train, test",
        ),
        ('{"type":"reset","data":{"index":3}}', "EXECUTION_ERROR", "split 'train' has 3 tasks, none at 3"),
    ],
)
async def test_a_bad_frame_is_answered_and_the_connection_stays(
    echo: LocalSocket, frame: str, expected: str, message: str
):
    reply = await echo.ask(frame)
    assert reply == {"type": "error", "data": {"message": message, "code": expected}}
    assert (await echo.ask({"type": "state"}))["type"] == "state"


@pytest.mark.parametrize(
    ("frame", "errors"),
    [
        ('{"type":"step"}', [("missing", ["data"], "Field required", {"type": "step"})]),
        (
            '{"type":"step","data":null}',
            [("dict_type", ["data"], "Input should be a valid dictionary", None)],
        ),
        ('{"type":"step","data":{}}', [("missing", ["text"], "Field required", {})]),
        (
            '{"type":"step","data":{"text":5}}',
            [("string_type", ["text"], "Input should be a valid string", 5)],
        ),
        (
            '{"type":"step","data":{"text":"a","b":1}}',
            [("extra_forbidden", ["b"], "Extra inputs are not permitted", 1)],
        ),
        (
            '{"type":"step","data":{"text":"a"},"id":1}',
            [("extra_forbidden", ["id"], "Extra inputs are not permitted", 1)],
        ),
        (
            '{"type":"step","data":{"text":"a","metadata":[]}}',
            [("dict_type", ["metadata"], "Input should be a valid dictionary", [])],
        ),
        (
            '{"type":"reset","data":{"seed":-1}}',
            [("greater_than_equal", ["seed"], "Input should be greater than or equal to 0", -1)],
        ),
        (
            '{"type":"reset","data":{"seed":"1"}}',
            [("int_type", ["seed"], "Input should be a valid integer", "1")],
        ),
        (
            '{"type":"reset","data":{"seed":1.5}}',
            [("int_type", ["seed"], "Input should be a valid integer", 1.5)],
        ),
        (
            '{"type":"reset","data":{"seed":true}}',
            [("int_type", ["seed"], "Input should be a valid integer", True)],
        ),
        (
            '{"type":"reset","data":{"seed":9007199254740992}}',
            [
                (
                    "less_than_equal",
                    ["seed"],
                    "Input should be less than or equal to 9007199254740991",
                    9007199254740992,
                )
            ],
        ),
        (
            '{"type":"reset","data":{"task_id":7}}',
            [("string_type", ["task_id"], "Input should be a valid string", 7)],
        ),
        ('{"type":"reset","data":[]}', [("dict_type", ["data"], "Input should be a valid dictionary", [])]),
        (
            '{"type":"reset","data":{"format":"xml"}}',
            [("value_error", ["format"], "must be one of: plain, react, modes", None)],
        ),
        ('{"type":"state","data":{}}', [("extra_forbidden", ["data"], "Extra inputs are not permitted", {})]),
        ('{"type":"close","x":1}', [("extra_forbidden", ["x"], "Extra inputs are not permitted", 1)]),
        ('{"type":"mcp"}', [("missing", ["data"], "Field required", {"type": "mcp"})]),
    ],
)
async def test_a_message_that_is_not_as_its_model_says_what_is_wrong(
    echo: LocalSocket, frame: str, errors: list[tuple[str, list[str], str, Any]]
):
    reply = await echo.ask(frame)
    listed = [
        {"type": kind, "loc": where, "msg": text, "input": value} for kind, where, text, value in errors
    ]
    assert reply["data"] == {"message": "Invalid message", "code": "VALIDATION_ERROR", "errors": listed}
    assert (await echo.ask({"type": "state"}))["type"] == "state"


async def test_an_error_shows_only_the_beginning_of_a_large_input(echo: LocalSocket):
    reply = await echo.ask({"type": "step", "data": {"text": ["x" * 100_000], "y" * 1000: "z" * 1000}})
    assert code(reply) == "VALIDATION_ERROR"
    assert len(json.dumps(reply)) < 1500


async def test_at_most_so_many_errors_are_listed(echo: LocalSocket):
    reply = await echo.ask({"type": "step", "data": {f"k{n}": 1 for n in range(500)}})
    assert len(reply["data"]["errors"]) == 16


async def test_an_action_beyond_the_limit_is_refused_and_takes_no_turn(echo: LocalSocket):
    await reset(echo)
    reply = await step(echo, "x" * 65_537)
    assert code(reply) == "VALIDATION_ERROR"
    assert reply["data"]["errors"][0]["msg"] == "must have at most 65536 characters"
    assert (await echo.ask({"type": "state"}))["data"]["turn"] == 0


async def test_a_step_after_the_end_is_an_error_and_a_reset_begins_again(echo: LocalSocket):
    await reset(echo)
    await step(echo, "stop")
    reply = await step(echo, "more")
    assert reply["data"] == {"message": "the episode ended with turn 1", "code": "EXECUTION_ERROR"}
    await reset(echo, task_id="train/0")
    assert (await step(echo, "a"))["data"]["observation"]["text"] == "1: a"


async def test_a_reset_that_fails_leaves_the_episode_as_it_was(echo: LocalSocket):
    await reset(echo, task_id="train/1")
    await step(echo, "a")
    assert code(await echo.ask({"type": "reset", "data": {"task_id": "train/77"}})) == "EXECUTION_ERROR"
    assert (await step(echo, "b"))["data"]["observation"]["text"] == "2: a b"
