"""What nobody should send: bodies, types, routes, hosts and tokens, and the order of the checks."""

import base64
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.server.environments import Echo

from agentgym_server import ServerSettings, create_app
from agentgym_server.app import service_of
from agentgym_server.lanes.endpoints import ENDPOINTS
from agentgym_server.lanes.gate import Routes
from agentgym_server.wire import strict_json

JSON = {"content-type": "application/json"}


def client(base_url: str = "http://localhost", **settings: Any) -> httpx.AsyncClient:
    app = create_app({"echo": Echo}, settings=ServerSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=base_url)


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with client() as http:
        yield http


@pytest.fixture
async def steps(http: httpx.AsyncClient) -> str:
    reply = await http.post("/envs/echo/sessions", json={"task_id": "train/0"})
    return f"/sessions/{reply.json()['session_id']}/steps"


def slug(reply: httpx.Response) -> str:
    assert reply.headers["content-type"] == "application/problem+json"
    return reply.json()["type"].removeprefix("urn:agentevol:problem:")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"{'turn': 1}",
        b'{"turn": NaN, "action": "a"}',
        b'{"turn": Infinity, "action": "a"}',
        b'{"turn": 1e999, "action": "a"}',
        b'{"turn": 1, "turn": 1, "action": "a"}',
        b'{"turn": 1, "action": {"type": "text", "text": "a", "text": "b"}}',
        b'{"turn": 1, "action": "\\ud800"}',
        b'{"turn": 1, "action": "a\\udc00b"}',
        b'{"turn": 1, "action": "\xff"}',
        b'{"turn": 1, "action": "a\nb"}',
        b'\xef\xbb\xbf{"turn": 1, "action": "a"}',
        b'{"turn": 1, "action": "a"} x',
        b"[" * 65 + b"]" * 65,
        b"[" * 100_000,
        b"1" * 5000,
    ],
)
async def test_a_body_that_is_no_json_is_refused(http: httpx.AsyncClient, steps: str, body: bytes):
    reply = await http.post(steps, content=body, headers=JSON)
    assert (reply.status_code, slug(reply)) == (400, "invalid-json")
    assert len(reply.content) < 1000


def test_depth_is_counted_outside_of_strings_and_up_to_64():
    assert strict_json.parse(b"[" * 64 + b"]" * 64) is not None
    assert strict_json.parse(b'"' + b"[" * 100 + b'"') == "[" * 100
    assert strict_json.parse(b'["\\"' + b"[" * 100 + b'"]') == ['"' + "[" * 100]
    with pytest.raises(strict_json.InvalidJson, match="nested deeper than 64"):
        strict_json.parse(b"[" * 65 + b"]" * 65)


def test_paired_surrogates_are_fine():
    assert strict_json.parse(b'"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    ("body", "path", "message"),
    [
        ({"turn": "1", "action": "a"}, "/turn", "must be an integer"),
        ({"turn": True, "action": "a"}, "/turn", "must be an integer"),
        ({"turn": 1.0, "action": "a"}, "/turn", "must be an integer"),
        ({"turn": None, "action": "a"}, "/turn", "must be an integer"),
        ({"turn": 0, "action": "a"}, "/turn", "must be at least 1"),
        ({"turn": 2**31, "action": "a"}, "/turn", "must be at most 2147483647"),
        ({"action": "a"}, "/turn", "is required"),
        ({"turn": 1}, "/action", "is required"),
        ({"turn": 1, "action": "a", "x/y~": 1}, "/x~1y~0", "unknown field"),
        ({"turn": 1, "action": {"type": "text"}}, "/action/text", "is required"),
        ({"turn": 1, "action": {"type": "text", "text": 5}}, "/action/text", "must be a string"),
        ({"turn": 1, "action": {"type": "text", "text": "", "more": 1}}, "/action/more", "unknown field"),
        ({"turn": 1, "action": "a", "deadline_s": 0}, "/deadline_s", "must be greater than 0"),
        ({"turn": 1, "action": "a", "deadline_s": True}, "/deadline_s", "must be a number"),
        ({"turn": 1, "action": "a" * 65537}, "/action", "must have at most 65536 characters"),
        ([], "", "must be an object"),
        ("x", "", "must be an object"),
    ],
)
async def test_a_wrong_type_or_field_is_named(
    http: httpx.AsyncClient, steps: str, body: Any, path: str, message: str
):
    reply = await http.post(steps, json=body)
    assert (reply.status_code, slug(reply)) == (422, "validation")
    assert reply.json()["errors"] == [{"path": path, "message": message}]


@pytest.mark.parametrize("action", [5, None, [], {}, {"type": "nope"}, {"type": 3}])
async def test_an_action_of_no_known_type_is_refused(http: httpx.AsyncClient, steps: str, action: Any):
    reply = await http.post(steps, json={"turn": 1, "action": action})
    assert [error["path"] for error in reply.json()["errors"]] == ["/action"]


@pytest.mark.parametrize(
    "body",
    [
        {"task_id": 5},
        {},
        {"task_id": "train/0", "seed": -1},
        {"task_id": "train/0", "seed": 2**53},
        {"task_id": "train/0", "max_turns": 0},
        {"task_id": "train/0", "lease_ttl_s": 86401},
        {"task_id": "train/0", "labels": {"a": 1}},
        {"task_id": "train/0", "labels": {str(n): "" for n in range(17)}},
        {"task_id": "train/0", "labels": {"a" * 129: ""}},
        {"task_id": "train/0", "format": "xml"},
        {"task_id": "train/0", "sead": 1},
    ],
)
async def test_a_bad_creation_is_refused(http: httpx.AsyncClient, body: dict[str, Any]):
    assert slug(await http.post("/envs/echo/sessions", json=body)) == "validation"


async def test_no_body_is_fine_where_it_is_optional_but_null_is_no_object(
    http: httpx.AsyncClient, steps: str
):
    session = steps.removesuffix("/steps")
    for path, status in ((f"{session}/lease", 200), (f"{session}/fork", 201)):
        assert (await http.post(path)).status_code == status
        assert (await http.post(path, json={})).status_code == status
        refused = await http.post(path, content=b"null", headers=JSON)
        assert (refused.status_code, refused.json()["detail"]) == (422, "/ must be an object")
    assert (await http.post("/sessions/s_x/lease", content=b"null", headers=JSON)).status_code == 404


async def test_digits_of_other_scripts_are_no_integers(http: httpx.AsyncClient):
    assert (await http.get("/envs/echo/tasks?limit=2")).status_code == 200
    refused = await http.get("/envs/echo/tasks?limit=\u0662")
    assert refused.json()["detail"] == "/limit must be an integer from 1 to 1000"


async def test_errors_repeat_little_of_what_was_sent(http: httpx.AsyncClient, steps: str):
    reply = await http.post(steps, json={"turn": 1, "action": "a", "k" * 5000: 1})
    assert len(reply.content) < 2000
    reply = await http.get(f"/sessions/{'x' * 3000}")
    assert len(reply.json()["session_id"]) == 256


async def test_a_huge_body_is_refused_unread(http: httpx.AsyncClient, steps: str):
    reply = await http.post(steps, content=b" " * (2**20 + 1), headers=JSON)
    assert (reply.status_code, slug(reply), reply.json()["max_bytes"]) == (413, "payload-too-large", 2**20)
    sent = 0

    async def chunks() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(1000):
            sent += 1
            yield b" " * 65536

    assert slug(await http.post(steps, content=chunks(), headers=JSON)) == "payload-too-large"


@pytest.mark.parametrize(
    ("media_type", "status"),
    [
        ("application/json", 200),
        ("application/json; charset=utf-8", 200),
        ("Application/JSON;charset=UTF-8", 200),
        ("application/json; charset=latin-1", 415),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        (None, 415),
    ],
)
async def test_only_json_is_read(http: httpx.AsyncClient, steps: str, media_type: str | None, status: int):
    request = http.build_request("POST", steps, content=b'{"turn": 1, "action": "a"}')
    if media_type is not None:
        request.headers["content-type"] = media_type
    assert (await http.send(request)).status_code == status


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/nope",
        "/health/",
        "/envs/",
        "/envs/echo/",
        "/sessions",
        "/sessions/x/nope",
        "//health",
        "/envs//tasks",
    ],
)
async def test_an_unknown_path_is_not_found(http: httpx.AsyncClient, path: str):
    reply = await http.get(f"http://localhost{path}")
    assert (reply.status_code, slug(reply)) == (404, "not-found")
    assert reply.headers["x-request-id"]


@pytest.mark.parametrize("session", ["s_unknown", "../../etc/passwd", "%00", "s_\u00e4", "x" * 300])
async def test_an_unknown_session_is_not_found(http: httpx.AsyncClient, session: str):
    reply = await http.get(f"/sessions/{session.replace('/', '%2F')}")
    assert reply.status_code == 404
    assert slug(reply) in ("session-not-found", "not-found")


@pytest.mark.parametrize("env", ["nope", "ECHO", "echo%20", "__class__"])
async def test_an_unknown_environment_is_not_found(http: httpx.AsyncClient, env: str):
    for path in (f"/envs/{env}", f"/envs/{env}/tasks", f"/envs/{env}/schema"):
        assert slug(await http.get(path)) == "env-not-found"
    assert slug(await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0"})) == "env-not-found"


async def test_methods_are_told(http: httpx.AsyncClient, steps: str):
    wrong = await http.put("/health")
    assert (wrong.status_code, slug(wrong)) == (405, "method-not-allowed")
    assert wrong.headers["allow"] == "GET, HEAD, OPTIONS"
    options = await http.options(steps)
    assert (options.status_code, options.headers["allow"], options.content) == (204, "OPTIONS, POST", b"")
    head = await http.head("/health")
    assert (head.status_code, head.content) == (200, b"")
    assert int(head.headers["content-length"]) > 100


@pytest.mark.parametrize(
    ("path", "allow"),
    [
        ("/openapi.json", "GET, HEAD, OPTIONS"),
        ("/docs", "GET, HEAD, OPTIONS"),
        ("/sessions/s_x/mcp", "OPTIONS, POST"),
    ],
)
async def test_routes_beside_the_table_tell_their_methods_too(http: httpx.AsyncClient, path: str, allow: str):
    options = await http.options(path)
    assert (options.status_code, options.headers.get("allow"), options.content) == (204, allow, b"")
    wrong = await http.put(path)
    assert (wrong.status_code, slug(wrong), wrong.headers["allow"]) == (405, "method-not-allowed", allow)


async def test_checks_come_in_order(http: httpx.AsyncClient, steps: str):
    bad = b'{"turn": "x"'
    wrong_type = {"content-type": "text/plain"}
    huge = b" " * (2**20 + 1)
    assert (await http.put("/nope", content=huge, headers=wrong_type)).status_code == 404
    assert (await http.put(steps, content=huge, headers=wrong_type)).status_code == 405
    assert (await http.post(steps, content=huge, headers=wrong_type)).status_code == 415
    assert (await http.post(steps, content=huge, headers=JSON)).status_code == 413
    assert (await http.post("/sessions/s_unknown/steps", content=bad, headers=JSON)).status_code == 400
    assert (await http.post("/sessions/s_unknown/steps", json={"turn": "x"})).status_code == 404
    await http.delete(steps.removesuffix("/steps"))
    assert (await http.post(steps, json={"turn": "x"})).status_code == 422
    assert (await http.post(steps, json={"turn": 1, "action": "a"})).status_code == 410


async def test_a_request_id_is_repeated_or_made(http: httpx.AsyncClient):
    assert (await http.get("/health", headers={"X-Request-Id": "abc"})).headers["x-request-id"] == "abc"
    made = {
        (await http.get("/health", headers={"X-Request-Id": "x" * 129})).headers["x-request-id"] for _ in "ab"
    }
    assert len(made) == 2
    assert "x" * 129 not in made


async def test_a_huge_header_block_is_refused(http: httpx.AsyncClient):
    reply = await http.get("/health", headers={"x": "y" * 17000})
    assert (reply.status_code, slug(reply)) == (431, "head-too-large")


async def test_a_long_url_is_refused(http: httpx.AsyncClient):
    assert (await http.get("/health?" + "x" * 9000)).status_code == 414


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("127.8.9.1:1", 200),
        ("[::1]:80", 200),
        ("envs.internal", 200),
        ("evil.example", 403),
        ("localhost.evil.example", 403),
        ("127.0.0.1.evil.example", 403),
        ("user@evil.example", 403),
        ("", 403),
        ("[::1", 403),
    ],
)
async def test_a_foreign_host_is_refused_on_loopback(host: str, status: int):
    async with client(allowed_hosts=("envs.internal",)) as http:
        reply = await http.get("/health", headers={"host": host})
        assert reply.status_code == status
        if status == 403:
            assert slug(reply) == "forbidden-origin"


async def test_a_foreign_origin_is_refused_on_loopback(http: httpx.AsyncClient):
    for origin in ("https://evil.example", "null"):
        assert (await http.get("/health", headers={"origin": origin})).status_code == 403
    assert (await http.get("/health", headers={"origin": "http://localhost:3000"})).status_code == 200


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


async def test_a_token_is_needed_where_one_is_set():
    basic = base64.b64encode(b"anybody:top").decode()
    async with client("http://envs.example", host="0.0.0.0", token="top") as http:
        for path in ("/envs", "/openapi.json", "/docs", "/nope", "/sessions/s_x"):
            reply = await http.get(path)
            assert (reply.status_code, slug(reply)) == (401, "unauthorized")
            assert reply.headers["www-authenticate"] == 'Bearer realm="agentevol"'
        for headers in (bearer("wrong"), bearer(""), {"authorization": "Basic !!"}, {"authorization": "top"}):
            assert (await http.get("/envs", headers=headers)).status_code == 401
        assert (await http.get("/envs?token=top&access_token=top")).status_code == 401
        assert (await http.put("/envs")).status_code == 401
        assert (await http.get("/envs", headers=bearer("top"))).status_code == 200
        assert (await http.get("/envs", headers={"authorization": f"Basic {basic}"})).status_code == 200


async def test_strangers_learn_the_status_only():
    async with client("http://envs.example", host="0.0.0.0", token="top") as http:
        assert (await http.get("/health")).json() == {"status": "healthy"}
        assert "sessions" in (await http.get("/health", headers=bearer("top"))).json()


async def test_an_agents_token_steps_and_nothing_else():
    tokens = {"token": "top", "trainer_token": "mid", "agent_token": "low"}
    async with client("http://envs.example", host="0.0.0.0", **tokens) as http:
        create = {"url": "/envs/echo/sessions", "json": {"task_id": "train/0"}}
        reply = await http.post(**create, headers=bearer("low"))
        assert (reply.status_code, slug(reply)) == (403, "forbidden-scope")
        session = (await http.post(**create, headers=bearer("mid"))).json()["session_id"]
        step = {"url": f"/sessions/{session}/steps", "json": {"turn": 1, "action": "a"}}
        assert (await http.post(**step, headers=bearer("low"))).status_code == 200
        for path in (f"/sessions/{session}", "/envs/echo/tasks"):
            assert (await http.get(path, headers=bearer("low"))).status_code == 403


async def test_the_openapi_document_names_every_route_and_model(http: httpx.AsyncClient):
    document = (await http.get("/openapi.json")).json()
    assert document["openapi"].startswith("3.1")
    step = document["paths"]["/sessions/{session_id}/steps"]["post"]
    assert step["requestBody"]["content"]["application/json"]["schema"]["$ref"].endswith("/StepRequest")
    assert {"200", "404", "409", "410", "422", "502", "504"} <= set(step["responses"])
    assert set(document["components"]["schemas"]) >= {"StepRequest", "CreateRequest", "Problem"}
    docs = await http.get("/docs")
    assert docs.status_code == 200
    assert "/sessions/{session_id}/steps" in docs.text
    assert "http://" not in docs.text
    assert "https://" not in docs.text


async def test_ready_and_health_tell_a_draining_server():
    app = create_app({"echo": Echo}, settings=ServerSettings())
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        assert (await http.get("/ready")).status_code == 503
        await service_of(app).start()
        assert (await http.get("/ready")).status_code == 200
        session = (await http.post("/envs/echo/sessions", json={"task_id": "train/0"})).json()["session_id"]
        service_of(app).drain()
        for path in ("/health", "/ready"):
            reply = await http.get(path)
            assert (reply.status_code, reply.json()["status"]) == (503, "draining")
            assert reply.headers["retry-after"]
        refused = await http.post("/envs/echo/sessions", json={"task_id": "train/0"})
        assert (slug(refused), refused.json()["retryable"]) == ("draining", True)
        body = {"turn": 1, "action": "a"}
        assert (await http.post(f"/sessions/{session}/steps", json=body)).status_code == 200
        await service_of(app).close()


@pytest.mark.parametrize("path", ["*", "", "/", "//", "/health/", "health"])
def test_a_path_that_is_none_is_no_route(path: str):
    assert Routes(ENDPOINTS).find(path) is None
