"""Hostile MCP: messages that are none, tools that are none, and turns out of turn."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from agentgym_server.dialects import DIALECTS

SPOKEN = any("mcp" in dialect.__module__.split(".")[2:] for dialect in DIALECTS)
pytestmark = pytest.mark.skipif(not SPOKEN, reason="this server does not speak MCP yet")

JSON = {"content-type": "application/json"}
LONG = "\u0416" * 5000
VERSION = "io.modelcontextprotocol/protocolVersion"
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, BAD_PARAMS, REFUSED, BAD_VERSION = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32000,
    -32022,
)


def rpc(method: str = "tools/call", number: Any = 1, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def act(arguments: Any = {"action": "a"}, **more: Any) -> dict[str, Any]:  # noqa: B006 - never changed
    return rpc(name="act", arguments=arguments, **more)


NO_JSON = {
    "nothing": b"",
    "noise": b"hello",
    "half": b'{"jsonrpc": "2.0"',
    "NaN": b'{"jsonrpc": "2.0", "id": NaN, "method": "ping"}',
    "duplicate key": b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "ping"}',
    "lone surrogate": b'{"jsonrpc": "2.0", "id": "\\ud800", "method": "ping"}',
    "bad UTF-8": b'"\xff"',
    "deep": b"[" * 100_000,
}
MESSAGES: dict[str, tuple[Any, int]] = {
    "null": (None, INVALID_REQUEST),
    "text": ("ping", INVALID_REQUEST),
    "number": (1, INVALID_REQUEST),
    "empty": ({}, INVALID_REQUEST),
    "no version": ({"id": 1, "method": "ping"}, INVALID_REQUEST),
    "another version": ({**rpc("ping"), "jsonrpc": "1.0"}, INVALID_REQUEST),
    "version of another type": ({**rpc("ping"), "jsonrpc": 2.0}, INVALID_REQUEST),
    "object as id": (rpc("ping", {"a": 1}), INVALID_REQUEST),
    "true as id": (rpc("ping", True), INVALID_REQUEST),
    "null as id": (rpc("ping", None), INVALID_REQUEST),
    "no method": ({"jsonrpc": "2.0", "id": 1}, INVALID_REQUEST),
    "method of another type": ({**rpc(), "method": ["ping"]}, INVALID_REQUEST),
    "unknown method": (rpc("tools/steal"), NO_METHOD),
    "long method": (rpc(LONG), NO_METHOD),
    "method of the trainer": (rpc("reset"), NO_METHOD),
    "resources": (rpc("resources/read", uri="file:///etc/passwd"), NO_METHOD),
    "params as array": ({**rpc(), "params": [1]}, BAD_PARAMS),
    "params as text": ({**rpc(), "params": "x"}, BAD_PARAMS),
    "no tool": (rpc(), BAD_PARAMS),
    "tool of another type": (rpc(name=1), BAD_PARAMS),
    "unknown tool": (rpc(name="steal", arguments={}), BAD_PARAMS),
    "long tool": (rpc(name=LONG, arguments={}), BAD_PARAMS),
    "tool of the trainer": (rpc(name="reset", arguments={}), BAD_PARAMS),
    "no arguments": (rpc(name="act"), BAD_PARAMS),
    "arguments as text": (act("a"), BAD_PARAMS),
    "arguments as array": (act([]), BAD_PARAMS),
    "argument missing": (act({}), BAD_PARAMS),
    "argument of another type": (act({"action": 1}), BAD_PARAMS),
    "argument as null": (act({"action": None}), BAD_PARAMS),
    "argument too many": (act({"action": "a", "x": 1}), BAD_PARAMS),
    "argument too long": (act({"action": "x" * 65537}), BAD_PARAMS),
    "metadata of another type": (act(_meta=[]), BAD_PARAMS),
    "turn of another type": (act(_meta={"agentevol/turn": "1"}), BAD_PARAMS),
    "turn zero": (act(_meta={"agentevol/turn": 0}), BAD_PARAMS),
    "turn too far": (act(_meta={"agentevol/turn": 9}), REFUSED),
    "cursor": (rpc("tools/list", cursor=LONG), BAD_PARAMS),
    "unknown modern version": (rpc("ping", _meta={VERSION: "2099-01-01"}), BAD_VERSION),
    "long modern version": (rpc("ping", _meta={VERSION: LONG}), BAD_VERSION),
    "modern version of another type": (rpc("ping", _meta={VERSION: 1}), BAD_PARAMS),
}


def refused(server: Any, answer: Any, sent: str) -> int:
    """The code of an error, which leaks nothing and repeats little."""
    assert answer.status in (200, 400, 404), answer
    assert answer.headers["content-type"] == "application/json"
    reply = answer.json()
    assert (reply["jsonrpc"], "result" in reply) == ("2.0", False)
    text = json.dumps(reply)
    assert "Traceback" not in text
    assert "reward" not in text
    assert not any(server.echoed(said, sent) for said in server.strings(reply))
    return reply["error"]["code"]


@pytest.mark.parametrize("name", NO_JSON)
def test_what_is_no_json_is_a_parse_error(server: Any, name: str):
    answer = server.call("POST", f"/sessions/{server.open()}/mcp", content=NO_JSON[name], headers=JSON)
    assert refused(server, answer, NO_JSON[name].decode("latin-1")) == PARSE_ERROR


@pytest.mark.parametrize("name", MESSAGES)
def test_a_bad_message_is_an_error_and_costs_no_turn(server: Any, name: str):
    message, code = MESSAGES[name]
    session = server.open()
    sent = json.dumps(message, ensure_ascii=False)
    answer = server.call("POST", f"/sessions/{session}/mcp", content=sent, headers=JSON)
    assert refused(server, answer, sent) == code
    good = server.call("POST", f"/sessions/{session}/mcp", json=act())
    assert good.json()["result"]["content"][0]["text"] == "1: a"


BATCHES: dict[str, list[Any]] = {
    "empty": [],
    "of noise": [1, None, "x", []],
    "within a batch": [[rpc("ping")]],
    "of initialize": [rpc("initialize")],
    "too big": [rpc("ping")] * 257,
}


@pytest.mark.parametrize("name", BATCHES)
def test_a_bad_batch_is_errors(server: Any, name: str):
    answer = server.call("POST", f"/sessions/{server.open()}/mcp", json=BATCHES[name])
    replies = answer.json() if isinstance(answer.json(), list) else [answer.json()]
    assert {reply["error"]["code"] for reply in replies} == {INVALID_REQUEST}


def test_a_call_after_the_end_is_refused(server: Any):
    path = f"/sessions/{server.open()}/mcp"
    server.call("POST", path, json=act({"action": "stop"}))
    answer = server.call("POST", path, json=act())
    assert refused(server, answer, "") == REFUSED
    assert answer.json()["error"]["data"]["type"].endswith(":session-ended")


@pytest.mark.parametrize("action", ["raise", "exit", "hang"])
def test_a_world_that_breaks_is_an_error_without_a_reward(server: Any, action: str):
    server.may_complain = True
    path = f"/sessions/{server.open('mischief')}/mcp"
    for _ in range(2):
        assert refused(server, server.call("POST", path, json=act({"action": action})), "") < -31999


@pytest.mark.parametrize("method", ["GET", "DELETE", "PUT", "PATCH"])
def test_another_method_is_refused(server: Any, sound: Callable[..., None], method: str):
    answer = server.call(method, f"/sessions/{server.open()}/mcp")
    assert (answer.status, answer.headers["allow"]) == (405, "OPTIONS, POST")
    sound(answer)


@pytest.mark.parametrize("session", ["s_0000000000000000", "x", "..", "%00", "s_" + "x" * 3000, "${x}"])
def test_a_session_that_is_none_is_not_found(server: Any, sound: Callable[..., None], session: str):
    answer = server.call("POST", f"/sessions/{session}/mcp", json=rpc("ping"))
    sound(answer, session)
    assert answer.status == 404


@pytest.mark.parametrize("media_type", ["text/plain", "application/json; charset=latin-1", "", "x" * 1000])
def test_another_media_type_is_refused(server: Any, sound: Callable[..., None], media_type: str):
    path, headers = f"/sessions/{server.open()}/mcp", {"content-type": media_type}
    answer = server.call("POST", path, content=json.dumps(rpc("ping")), headers=headers)
    sound(answer, media_type)
    assert (answer.status, answer.slug) == (415, "unsupported-media-type")


def test_a_body_beyond_a_mebibyte_is_refused(server: Any, sound: Callable[..., None]):
    answer = server.call("POST", f"/sessions/{server.open()}/mcp", content=b" " * (2 << 20), headers=JSON)
    sound(answer)
    assert answer.status == 413


@pytest.mark.parametrize("version", ["2099-01-01", "", "x" * 5000])
def test_an_unknown_version_in_the_header_is_refused(server: Any, version: str):
    headers = {"mcp-protocol-version": version}
    answer = server.call("POST", f"/sessions/{server.open()}/mcp", json=rpc("ping"), headers=headers)
    assert (answer.status, refused(server, answer, version)) == (400, BAD_VERSION)
