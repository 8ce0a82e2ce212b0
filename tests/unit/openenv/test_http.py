"""OpenEnv's HTTP routes: one request an episode, sessions, the task API, the manifest."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
import yaml
from fastapi import FastAPI
from jsonschema import Draft202012Validator
from support.server.environments import CheapMischief, Echo, Slow
from support.server.local_socket import LocalSocket
from support.server.openenv import client, v1_session

from agentgym_envs.core import Task
from agentgym_envs.lazy_sequence import LazySequence
from agentgym_server import ServerSettings, create_app
from agentgym_server.service import Service

WORLDS = {"echo": Echo, "slow": Slow, "mischief": CheapMischief}


@pytest.fixture
def app() -> FastAPI:
    return create_app(WORLDS, settings=ServerSettings(max_sessions=3))


async def test_health_and_metadata(http: httpx.AsyncClient):
    assert (await http.get("/openenv/echo/health")).json() == {"status": "healthy"}
    assert (await http.get("/openenv/echo/metadata")).json() == {
        "name": "echo",
        "description": "Repeats every action; `stop` terminates with reward 1, any other action earns 0.125.",
        "readme_content": None,
        "version": "1.0.0",
        "author": None,
        "documentation_url": None,
    }


async def test_the_schemas_describe_what_is_sent(http: httpx.AsyncClient):
    schemas = (await http.get("/openenv/echo/schema")).json()
    assert sorted(schemas) == ["action", "observation", "reset_observation", "state"]
    action = Draft202012Validator(schemas["action"])
    assert action.is_valid({"text": "look"})
    assert action.is_valid({"text": "look", "metadata": {"a": 1}})
    assert not action.is_valid({"text": 5})
    assert not action.is_valid({"text": "look", "other": 1})
    reset = (await http.post("/openenv/echo/reset")).json()
    Draft202012Validator(schemas["reset_observation"]).validate(reset["observation"])
    Draft202012Validator(schemas["state"]).validate((await http.get("/openenv/echo/state")).json())


async def test_without_a_session_every_request_has_an_episode_of_its_own(
    http: httpx.AsyncClient, service: Service
):
    for _ in range(2):
        reply = (await http.post("/openenv/echo/step", json={"action": {"text": "a"}})).json()
        session = reply["metadata"]["session_id"]
        metadata = {"terminated": False, "truncated": False, "session_id": session, "turn": 1}
        observation = {"text": "1: a", "info": {"available_actions": ["say", "stop"]}, "metadata": metadata}
        assert reply == {"observation": observation, "reward": 0.125, "done": False, "metadata": metadata}
    state = (await http.get("/openenv/echo/state")).json()
    assert (len(state["episode_id"]), state["step_count"]) == (32, 0)
    assert (service.registry.active, service.registry.totals()["cancelled"]) == (0, 2)


@pytest.mark.parametrize("body", [b"", b"{}", b'{"seed":1,"episode_id":"e","more":[1]}'])
async def test_a_reset_over_http(http: httpx.AsyncClient, service: Service, body: bytes):
    reply = await http.post("/openenv/echo/reset", content=body)
    assert (reply.status_code, reply.json()["reward"], reply.json()["done"]) == (200, 0.0, False)
    assert sorted(reply.json()) == ["done", "metadata", "observation", "reward"]
    assert service.registry.active == 0


@pytest.mark.parametrize("way", ["body", "header"])
async def test_with_a_session_requests_act_on_it(http: httpx.AsyncClient, way: str):
    session = await v1_session(http)
    extra = {"session_id": session} if way == "body" else {}
    headers = {"x-session-id": session} if way == "header" else {}

    async def post(path: str, **body: Any) -> dict[str, Any]:
        reply = await http.post(f"/openenv/echo/{path}", json=body | extra, headers=headers)
        assert reply.status_code == 200, reply.text
        return reply.json()

    texts = [(await post("step", action={"text": word}))["observation"]["text"] for word in ("a", "b")]
    assert texts == ["1: a", "2: a b"]
    query = f"?session_id={session}" if way == "body" else ""
    state = (await http.get(f"/openenv/echo/state{query}", headers=headers)).json()
    assert (state["episode_id"], state["step_count"]) == (session, 2)
    await post("reset", task_id="test/2")
    assert (await post("step", action={"text": "c"}))["observation"]["text"] == "1: c"


@pytest.mark.parametrize(
    ("path", "body", "detail"),
    [
        ("reset", b'{"seed":-1}', ("greater_than_equal", ["body", "seed"], -1)),
        ("reset", b'{"seed":"x"}', ("int_type", ["body", "seed"], "x")),
        ("reset", b'{"episode_id":5}', ("string_type", ["body", "episode_id"], 5)),
        ("reset", b"[1]", ("model_attributes_type", ["body"], [1])),
        ("reset", b"null", ("model_attributes_type", ["body"], None)),
        ("reset", b"{", ("json_invalid", ["body", 1], {})),
        ("reset", b'{"a":1,"a":1}', ("json_invalid", ["body"], {})),
        ("reset", b'{"a":NaN}', ("json_invalid", ["body"], {})),
        ("reset", b'{"a":"\\udc00"}', ("json_invalid", ["body"], {})),
        ("reset", b'{"a":"\xff"}', ("json_invalid", ["body", 6], {})),
        ("reset", b"[" * 100_000, ("json_invalid", ["body"], {})),
        ("step", b"", ("missing", ["body"], None)),
        ("step", b"{}", ("missing", ["body", "action"], {})),
        ("step", b'{"action":"look"}', ("dict_type", ["body", "action"], "look")),
        ("step", b'{"action":{}}', ("missing", ["body", "action", "text"], {})),
        ("step", b'{"action":{"text":5}}', ("string_type", ["body", "action", "text"], 5)),
        ("step", b'{"action":{"text":"a"},"timeout_s":0}', ("greater_than", ["body", "timeout_s"], 0)),
        ("step", b'{"action":{"text":"a"},"timeout_s":"1"}', ("float_type", ["body", "timeout_s"], "1")),
        ("step", b'{"action":{"text":"a"},"request_id":7}', ("string_type", ["body", "request_id"], 7)),
    ],
)
async def test_a_bad_body_has_fastapis_errors(
    http: httpx.AsyncClient, service: Service, path: str, body: bytes, detail: tuple[str, list[Any], Any]
):
    reply = await http.post(f"/openenv/echo/{path}", content=body)
    assert reply.status_code == 422
    (error,) = reply.json()["detail"]
    assert (error["type"], error["loc"], error["input"]) == detail
    assert error["msg"]
    assert sum(service.registry.created.values()) == 0


@pytest.mark.parametrize("name", ["request_id", "episode_id"])
async def test_names_have_at_most_255_characters(http: httpx.AsyncClient, name: str):
    path, rest = ("step", {"action": {"text": "a"}}) if name == "request_id" else ("reset", {})
    assert (await http.post(f"/openenv/echo/{path}", json={name: "x" * 255, **rest})).status_code == 200
    reply = await http.post(f"/openenv/echo/{path}", json={name: "x" * 256, **rest})
    assert reply.json()["detail"][0]["type"] == "string_too_long"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "detail"),
    [
        ("GET", "/openenv/echo/nope", None, 404, "Not Found"),
        ("GET", "/openenv/echo/health/", None, 404, "Not Found"),
        ("GET", "/openenv/echo/", None, 404, "Not Found"),
        ("GET", "/openenv/none/health", None, 404, "Not Found"),
        ("GET", "/openenv/ECHO/health", None, 404, "Not Found"),
        ("GET", "/openenv/echo/web", None, 404, "Not Found"),
        ("GET", "/openenv/echo/step", None, 405, "Method Not Allowed"),
        ("POST", "/openenv/echo/health", {}, 405, "Method Not Allowed"),
        ("POST", "/openenv/echo/reset", {"task_id": "x"}, 404, "no task has this id"),
        ("POST", "/openenv/echo/reset", {"session_id": "x"}, 404, "Unknown session_id: x"),
        (
            "POST",
            "/openenv/echo/step",
            {"action": {"text": "a"}, "session_id": "x"},
            404,
            "Unknown session_id: x",
        ),
        ("GET", "/openenv/echo/state?session_id=x", None, 404, "Unknown session_id: x"),
    ],
)
async def test_refusals_have_fastapis_shape(
    http: httpx.AsyncClient, method: str, path: str, body: Any, status: int, detail: str
):
    reply = await http.request(method, path, json=body)
    assert (reply.status_code, reply.json()) == (status, {"detail": detail})
    assert reply.headers["content-type"] == "application/json"


async def test_a_world_that_raises_is_a_500_without_a_reward(http: httpx.AsyncClient, service: Service):
    reply = await http.post("/openenv/mischief/step", json={"action": {"text": "raise"}})
    assert reply.status_code == 500
    assert reply.json()["failure"] == {"kind": "internal", "turn": 1, "message": "the environment broke"}
    assert "reward" not in reply.text
    assert "secret" not in reply.text
    assert service.registry.totals()["failed"] == 1


async def test_a_step_has_its_own_time_limit(http: httpx.AsyncClient):
    body = {"action": {"text": "3600"}, "timeout_s": 0.05}
    reply = await http.post("/openenv/slow/step", json=body)
    assert (reply.status_code, reply.json()["failure"]["kind"]) == (504, "step-timeout")


async def test_a_full_server_is_a_503_with_a_time(http: httpx.AsyncClient):
    sessions = [await v1_session(http) for _ in range(3)]
    for path, body in (("reset", {}), ("step", {"action": {"text": "a"}})):
        reply = await http.post(f"/openenv/echo/{path}", json=body)
        assert (reply.status_code, reply.headers["retry-after"]) == (503, "1")
        detail = {"detail": "3 of 3 sessions are in use", "active_sessions": 3, "max_sessions": 3}
        assert reply.json() == detail
    await http.delete(f"/sessions/{sessions[0]}")
    assert (await http.post("/openenv/echo/reset")).status_code == 200


async def test_a_finished_session_takes_no_more_steps(http: httpx.AsyncClient):
    session = await v1_session(http)
    body = {"action": {"text": "stop"}, "session_id": session}
    assert (await http.post("/openenv/echo/step", json=body)).json()["done"] is True
    reply = await http.post("/openenv/echo/step", json=body)
    assert (reply.status_code, reply.json()["detail"]) == (409, "the episode ended with turn 1")


async def test_the_openapi_document_has_the_paths_of_simulation(http: httpx.AsyncClient):
    document = (await http.get("/openenv/echo/openapi.json")).json()
    assert document["info"]["version"] == "1.0.0"
    assert {"/reset", "/step", "/state", "/mcp", "/echo/tasks"} <= document["paths"].keys()
    assert list(document["paths"]["/step"]) == ["post"]


async def test_the_manifest_follows_from_the_environment(http: httpx.AsyncClient):
    reply = await http.get("/openenv/echo/openenv.yaml")
    manifest = yaml.safe_load(reply.text)
    assert (manifest["spec_version"], manifest["name"], manifest["version"]) == (1, "echo", "1.0.0")
    validation = manifest["validation"]
    assert validation["reward"] == {"range": [0.0, 1.0], "oracle_tolerance": 0.0, "floor_margin": 1.0}
    assert validation["resources"] == {
        "cpu": 1.0,
        "memory_mb": 2048,
        "disk_mb": 512,
        "episode_timeout_s": 480.0,  # 8 turns of 60 s
    }
    assert validation["capabilities"] == {
        "verifier": {"kind": "reward_channel"},
        "task_api": True,
        "declared_task_count": {"train": 3, "test": 3},
    }
    assert validation["types"] == {"tags": ["echo"]}


async def test_the_task_api(http: httpx.AsyncClient):
    async def post(path: str, **body: Any) -> Any:
        return (await http.post(f"/openenv/echo/{path}", json=body)).json()

    assert (await http.get("/openenv/echo/list_environments")).json() == ["echo"]
    for name in ("echo", "Echo", "ECHO"):
        assert (await http.get(f"/openenv/echo/{name}/splits")).json() == [
            {"name": "train", "type": "train"},
            {"name": "test", "type": "test"},
        ]
    rows = [{"task_id": f"test/{index}", "split": "test", "index": index} for index in range(3)]
    assert await post("echo/tasks", split="test") == {"tasks": rows, "env_name": "echo"}
    assert await post("echo/num_tasks", split="test") == {"num_tasks": 3}
    assert await post("echo/task", split="test", index=1) == {"task": rows[1]}
    assert await post("echo/task_range", split="test", start=1, stop=9) == {"tasks": rows[1:]}
    assert await post("echo/task_range", split="test") == {"tasks": rows}
    assert await post("echo/task_range", split="test", start=None, stop=-1) == {"tasks": rows[:2]}
    assert await post("echo/task_range", split="test", start=2, stop=1) == {"tasks": []}


@pytest.mark.parametrize(
    ("path", "body", "status", "detail"),
    [
        ("x/tasks", {"split": "test"}, 404, "unknown environment 'x'"),
        ("x/task", {"split": "test", "index": 0}, 404, "unknown environment 'x'"),
        ("echo/task", {"split": "test", "index": 3}, 400, "Invalid task index"),
        ("echo/task", {"split": "test", "index": -1}, 400, "Invalid task index"),
        ("echo/task", {"split": "test", "index": 10**30}, 400, "Invalid task index"),
        ("echo/tasks", {"split": "dev"}, 404, "no split is named 'dev'; there are: train, test"),
        ("echo/num_tasks", {"split": "dev"}, 404, "no split is named 'dev'; there are: train, test"),
    ],
)
async def test_tasks_that_are_not_there(
    http: httpx.AsyncClient, path: str, body: Any, status: int, detail: str
):
    reply = await http.post(f"/openenv/echo/{path}", json=body)
    assert (reply.status_code, reply.json()) == (status, {"detail": detail})


@pytest.mark.parametrize(
    ("path", "body", "kind"),
    [
        ("tasks", {"split": "test", "x": 1}, "extra_forbidden"),
        ("tasks", {}, "missing"),
        ("num_tasks", {"split": 5}, "string_type"),
        ("task", {"split": "test", "index": "0"}, "int_type"),
        ("task", {"split": "test", "index": True}, "int_type"),
        ("task_range", {"split": "test", "start": 0.5}, "int_type"),
    ],
)
async def test_bodies_of_the_task_api_are_strict(http: httpx.AsyncClient, path: str, body: Any, kind: str):
    reply = await http.post(f"/openenv/echo/echo/{path}", json=body)
    assert (reply.status_code, reply.json()["detail"][0]["type"]) == (422, kind)


async def test_splits_of_another_name_count_as_validation():
    class Splits(Echo):
        @property
        def splits(self) -> tuple[str, ...]:
            return ("easy", "validation")

        def task(self, task_id: str) -> Task:
            return Task(env="echo", id=task_id, split=task_id.partition("/")[0], instruction="Say stop.")

    app = create_app({"echo": Splits})
    async with client(app) as http:
        assert (await http.get("/openenv/echo/echo/splits")).json() == [
            {"name": "easy", "type": "validation"},
            {"name": "validation", "type": "validation"},
        ]
    async with LocalSocket(app, "/openenv/echo/ws") as socket:
        await socket.ask({"type": "reset", "data": {"seed": 2}})  # no split `train`: the first it is
        assert (await socket.ask({"type": "state"}))["data"]["task_id"] == "easy/2"


class Many(Echo):
    """As many tasks in a split as a test wants, each made when it is read."""

    def tasks(self, split: str, difficulty: str | None = None) -> Sequence[Task]:
        return LazySequence(
            self.episodes,
            lambda index: Task(env="echo", id=f"{split}/{index}", split=split, instruction="Say stop."),
        )


def many(count: int) -> Any:
    return create_app({"echo": type("Many", (Many,), {"episodes": count})})


async def test_a_split_of_more_than_a_page_is_listed_whole():
    async with client(many(1001)) as http:
        for path in ("tasks", "task_range"):
            reply = await http.post(f"/openenv/echo/echo/{path}", json={"split": "test"})
            assert reply.status_code == 200, reply.text
            rows = reply.json()["tasks"]
            assert [row["index"] for row in rows] == list(range(1001))
            assert rows[-1] == {"task_id": "test/1000", "split": "test", "index": 1000}
            assert "next_start" not in reply.json()


async def test_of_a_split_that_is_too_large_the_first_page_comes_and_says_so():
    async with client(many(600_000)) as http:
        reply = await http.post("/openenv/echo/echo/tasks", json={"split": "test"})
        assert reply.status_code == 200, reply.text
        body = reply.json()
        assert [row["index"] for row in body.pop("tasks")] == list(range(1000))
        assert body == {"env_name": "echo", "num_tasks": 600_000, "next_start": 1000}
        wish = {"split": "test", "start": 599_000}
        last = (await http.post("/openenv/echo/echo/task_range", json=wish)).json()
        assert (len(last["tasks"]), last["tasks"][-1]["index"], list(last)) == (1000, 599_999, ["tasks"])
        wish = {"split": "test", "start": 100, "stop": 500_000}
        part = (await http.post("/openenv/echo/echo/task_range", json=wish)).json()
        assert (len(part["tasks"]), part["num_tasks"], part["next_start"]) == (1000, 600_000, 1100)
