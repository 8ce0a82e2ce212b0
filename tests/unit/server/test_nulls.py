"""`null` in requests: only `seed` may be null, on every lane and in the OpenAPI document."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from support.server.environments import Echo
from support.server.local_socket import LocalSocket

from agentgym_server import create_app

REFUSED = [
    ("create", "max_turns"),
    ("create", "lease_ttl_s"),
    ("create", "format"),
    ("create", "labels"),
    ("step", "deadline_s"),
    ("fork", "at_turn"),
    ("fork", "lease_ttl_s"),
    ("fork", "labels"),
    ("lease", "lease_ttl_s"),
]
"""Members by operation whose absence leaves the choice to the server; null does not."""
PATHS = {"create": "/envs/echo/sessions", "step": "steps", "fork": "fork", "lease": "lease"}
BODIES: dict[str, dict[str, Any]] = {"create": {"task_id": "train/0"}, "step": {"turn": 1, "action": "a"}}
MODELS = {"create": "CreateRequest", "step": "StepRequest", "fork": "ForkRequest", "lease": "LeaseRequest"}


@pytest.fixture
def app() -> Any:
    return create_app({"echo": Echo})


@pytest.fixture
async def http(app: Any) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


@pytest.fixture
async def session(http: httpx.AsyncClient) -> str:
    return (await http.post(PATHS["create"], json=BODIES["create"])).json()["session_id"]


def check(problem: dict[str, Any], member: str) -> None:
    assert problem["type"] == "urn:agentevol:problem:validation"
    assert [row["path"] for row in problem["errors"]] == [f"/{member}"]
    assert problem["errors"][0]["message"].startswith("must be ")


def item_of(operation: str, session: str) -> dict[str, Any]:
    subject = {"env": "echo"} if operation == "create" else {"session_id": session}
    return {"op": operation, **subject, **BODIES.get(operation, {})}


@pytest.mark.parametrize(("operation", "member"), REFUSED)
async def test_null_is_refused_over_rest(http: httpx.AsyncClient, session: str, operation: str, member: str):
    path = PATHS[operation] if operation == "create" else f"/sessions/{session}/{PATHS[operation]}"
    reply = await http.post(path, json={**BODIES.get(operation, {}), member: None})
    assert reply.status_code == 422, reply.text
    check(reply.json(), member)


@pytest.mark.parametrize(("operation", "member"), [*REFUSED, ("create", "idempotency_key")])
async def test_null_is_refused_in_frames_and_batches(
    app: Any, http: httpx.AsyncClient, session: str, operation: str, member: str
):
    item = {**item_of(operation, session), member: None}
    batch = (await http.post("/batch", json={"items": [item]})).json()["results"][0]
    async with LocalSocket(app, "/ws") as socket:
        frame = await socket.ask({"id": "1", **item})
    for result in (batch, frame):
        assert result["status"] == 422, result
        check(result["problem"], member)


@pytest.mark.parametrize("member", ["split", "difficulty", "offset", "limit"])
async def test_null_is_refused_for_a_page_of_tasks(http: httpx.AsyncClient, member: str):
    item = {"op": "tasks", "env": "echo", member: None}
    (result,) = (await http.post("/batch", json={"items": [item]})).json()["results"]
    assert result["status"] == 422, result
    check(result["problem"], member)


async def test_a_null_seed_lets_the_server_draw_one(http: httpx.AsyncClient):
    reply = await http.post(PATHS["create"], json={**BODIES["create"], "seed": None})
    assert (reply.status_code, type(reply.json()["seed"])) == (201, int)


def test_the_document_allows_null_for_the_seed_alone(app: Any):
    schemas = app.openapi()["components"]["schemas"]
    nullable = {
        (model, name)
        for model in MODELS.values()
        for name, member in schemas[model]["properties"].items()
        if {"type": "null"} in member.get("anyOf", ()) or ("default" in member and member["default"] is None)
    }
    assert nullable == {("CreateRequest", "seed")}
