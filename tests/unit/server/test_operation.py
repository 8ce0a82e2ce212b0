"""Running a server: metrics, rate limits, logs, memory of sessions."""

import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.server.environments import CheapMischief, Echo

from agentgym_server import ServerSettings, create_app
from agentgym_server.monitoring.histograms import Histogram
from agentgym_server.monitoring.logs import JsonFormatter, about

WORLDS = {"echo": Echo, "mischief": CheapMischief}


def client(**settings: Any) -> httpx.AsyncClient:
    app = create_app(WORLDS, settings=ServerSettings(**settings))
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


@pytest.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    async with client() as http:
        yield http


async def begin(http: httpx.AsyncClient, env: str = "echo", **body: Any) -> str:
    reply = await http.post(f"/envs/{env}/sessions", json={"task_id": "train/0", **body})
    assert reply.status_code == 201, reply.text
    return reply.json()["session_id"]


async def step(http: httpx.AsyncClient, session: str, turn: int, action: str) -> httpx.Response:
    return await http.post(f"/sessions/{session}/steps", json={"turn": turn, "action": action})


async def metrics(http: httpx.AsyncClient) -> dict[tuple[str, ...], float]:
    """Every sample by its name and the values of its labels, in the order of their names."""
    reply = await http.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(reply.text)
        for sample in family.samples
    }


async def test_every_session_and_step_is_counted_once(http: httpx.AsyncClient):
    ended, broken, closed, kept = [await begin(http, env) for env in ("echo", "mischief", "echo", "echo")]
    await step(http, ended, 1, "a")
    await step(http, ended, 1, "a")
    await step(http, ended, 1, "b")
    await step(http, ended, 2, "stop")
    await step(http, broken, 1, "raise")
    await http.delete(f"/sessions/{closed}")
    await step(http, kept, 1, "a")
    found = await metrics(http)
    assert found["agentevol_sessions_created_total", "echo"] == 3
    assert found["agentevol_sessions_active", "echo"] == 1
    assert found["agentevol_sessions_active", "mischief"] == 0
    assert found["agentevol_sessions_finished_total", "echo", "terminated"] == 1
    assert found["agentevol_sessions_finished_total", "echo", "cancelled"] == 1
    assert found["agentevol_sessions_finished_total", "mischief", "failed"] == 1
    counts = {
        name[2]: value for name, value in found.items() if name[:2] == ("agentevol_steps_total", "echo")
    }
    assert counts == {"ok": 3, "replay": 1, "conflict": 1}
    assert found["agentevol_steps_total", "mischief", "failed"] == 1
    assert found["agentevol_step_seconds_count", "echo"] == 3
    route = "/sessions/{session_id}/steps"
    assert found["agentevol_http_requests_total", "POST", route, "200"] == 4
    assert found["agentevol_http_requests_total", "POST", route, "409"] == 1
    assert found["agentevol_http_request_seconds_count", route] == 6
    assert found["agentevol_sessions_stored_bytes", "echo"] > 0
    assert found["process_resident_memory_bytes",] > 1 << 20


async def test_a_session_refused_for_lack_of_room_is_counted():
    async with client(max_sessions=1) as http:
        await begin(http)
        assert (await http.post("/envs/echo/sessions", json={"task_id": "train/0"})).status_code == 503
        assert (await metrics(http))["agentevol_capacity_rejections_total", "echo"] == 1


async def test_labels_never_hold_what_callers_send(http: httpx.AsyncClient):
    for path in ("/x/y/z", "/agentgym/nothing", "/sessions/s_unknown", "/envs/unknown"):
        await http.request("PROPFIND", path)
    names = {name[1:] for name in await metrics(http) if name[0] == "agentevol_http_requests_total"}
    assert names == {
        ("other", "other", "404"),
        ("other", "/agentgym", "404"),
        ("other", "/sessions/{session_id}", "405"),
        ("other", "/envs/{env}", "405"),
    }


async def test_metrics_are_for_admins():
    async with client(token="admin", trainer_token="trainer") as http:
        for token, status in (("admin", 200), ("trainer", 403), ("wrong", 401)):
            reply = await http.get("/metrics", headers={"authorization": f"Bearer {token}"})
            assert reply.status_code == status


def test_a_histogram_counts_into_cumulative_buckets():
    histogram = Histogram()
    for seconds in (0.0001, 0.0002, 0.3, 100.0):
        histogram.observe(seconds)
    buckets = dict(histogram.buckets())
    assert [buckets[bound] for bound in ("0.0001", "0.00025", "0.25", "0.5", "60.0", "+Inf")] == [
        1,
        2,
        2,
        3,
        3,
        4,
    ]
    assert histogram.total_s == pytest.approx(100.3003)


async def test_a_token_beyond_its_rate_is_told_to_come_back_and_others_are_not():
    async with client(token="admin", agent_token="agent", rate_limit_per_s=0.001, rate_burst=2) as http:
        statuses = {
            token: [
                (await http.get("/health", headers={"authorization": f"Bearer {token}"})).status_code
                for _ in range(3)
            ]
            for token in ("admin", "agent")
        }
        assert statuses == {"admin": [200, 200, 429], "agent": [200, 200, 429]}
        reply = await http.get("/health", headers={"authorization": "Bearer admin"})
        assert reply.headers["retry-after"] == "1"
        assert reply.json()["type"] == "urn:agentevol:problem:rate-limited"
        assert reply.json()["retryable"] is True


async def test_a_session_that_says_too_much_is_cut():
    async with client(max_session_bytes=100) as http:
        session = await begin(http)
        assert (await step(http, session, 1, "x" * 60)).json()["truncated"] is False
        assert (await http.get(f"/sessions/{session}")).json()["stored_bytes"] > 60
        last = (await step(http, session, 2, "x" * 60)).json()
        assert (last["truncated"], last["info"]["truncation_reason"]) == (True, "session-bytes")
        assert (await step(http, session, 3, "x")).status_code == 409


async def test_the_log_tells_of_every_ending_by_session(
    http: httpx.AsyncClient, caplog: pytest.LogCaptureFixture
):
    caplog.set_level(logging.INFO, "agentgym_server")
    good, bad = await begin(http), await begin(http, "mischief")
    await step(http, good, 1, "stop")
    await step(http, bad, 1, "raise")
    lines = [json.loads(JsonFormatter().format(record)) for record in caplog.records]
    endings = [line for line in lines if line["message"] == "session finished"]
    assert [(line["session"], line["outcome"], line["level"]) for line in endings] == [
        (good, "terminated", "info"),
        (bad, "failed", "warning"),
    ]
    assert endings[0] | {"time": "", "wall_s": 0} == {
        "time": "",
        "level": "info",
        "logger": "agentgym_server.sessions.registry",
        "message": "session finished",
        "session": good,
        "env": "echo",
        "task": "train/0",
        "outcome": "terminated",
        "turns": 1,
        "wall_s": 0,
        "total_reward": 1.0,
    }
    assert endings[1]["failure"] == "internal"
    assert "total_reward" not in endings[1]


def test_a_log_line_is_one_line_of_json_whatever_it_is_about():
    record = logging.LogRecord("x", logging.ERROR, "", 0, "two\nlines", None, None)
    record.__dict__.update(about(session="s_1", value=object()))
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["session"] == "s_1"
