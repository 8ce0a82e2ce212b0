"""The judge service over HTTP, in this process: replies, limits, tokens, draining, and callers who leave."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from support.judging import Fixed, Model, Stuck, conversation, log_of, model_judge, transcript
from support.server.leaving import LeavingCaller

from agentevol.data.judgements.panel import Asked, Panel
from agentevol.service.judge.app import application
from agentevol.service.judge.service import JudgeService
from agentevol.service.judge.settings import JudgeSettings
from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_server.settings import ServerSettings

LOCAL = ServerSettings()
PATH = "/judgements"
COURTESY = {"name": "courtesy", "low": 0, "high": 4, "description": "Is it polite?"}


@asynccontextmanager
async def running(
    *judges: Any, settings: JudgeSettings | None = None
) -> AsyncGenerator[tuple[JudgeService, httpx.AsyncClient]]:
    service = JudgeService(Panel(judges or [Fixed()]), settings or JudgeSettings(server=LOCAL))
    transport = httpx.ASGITransport(application(service))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield service, client


def items(*names: str) -> list[dict[str, Any]]:
    return [conversation(f"Hello {name}.", name=name).model_dump(mode="json") for name in names]


def problem(reply: httpx.Response) -> tuple[int, str]:
    body = reply.json()
    assert reply.headers["content-type"] == "application/problem+json"
    assert body["status"] == reply.status_code
    return reply.status_code, body["type"].removeprefix("urn:agentevol:problem:")


async def test_judgements_are_in_the_order_of_the_items_and_failures_have_no_numbers() -> None:
    model = Model(None, 400, None)
    async with running(model_judge(model, concurrency=1, cache=AnswerCache())) as (_, client):
        reply = await client.post(PATH, json={"items": items("z", "a", "m")})
    body = reply.json()
    assert reply.status_code == 200
    assert [(one["id"], one["status"]) for one in body["judgements"]] == [
        ("z", "ok"),
        ("a", "failed"),
        ("m", "ok"),
    ]
    first, failed, _ = body["judgements"]
    assert (first["scores"][0]["goal"], first["scores"][1]["goal"]) == (7.0, 5.0)
    assert first["normalised"][1]["goal"] == 0.5
    assert first["opinions"][0]["samples"][0]["reasons"][0]["goal"] == "because"
    assert (failed["kind"], "400" in failed["detail"]) == ("judge", True)
    assert not {"scores", "overall", "normalised", "spread"} & failed.keys()
    assert body["summary"]["outcomes"] == {"ok": 2, "failed(judge)": 1}
    assert body["summary"]["usage"]["requests"] == 3


async def test_items_of_every_type_are_judged_by_chosen_judges_in_own_dimensions() -> None:
    model = Model()
    batch = [
        *items("a"),
        {"type": "episode", "episode": log_of("e", "Hello.")},
        {"type": "social", "task_id": "test/price/1/0", "seed": 1, "log": []},
        transcript().model_dump(mode="json"),
        {**transcript().model_dump(mode="json"), "dimensions": [COURTESY]},
    ]
    async with running(Fixed("other"), model_judge(model)) as (_, client):
        reply = await client.post(PATH, json={"items": batch, "judges": ["openai:m"], "samples": 2})
    judged = reply.json()["judgements"]
    assert [one["status"] for one in judged] == ["ok", "failed", "ok", "ok", "ok"]
    assert judged[1]["kind"] == "unsupported"  # no profiles are imported
    assert [len(one["opinions"]) for one in judged] == [1] * 5
    assert next(iter(judged[3]["scores"][0])) == "task understanding"
    assert judged[4]["scores"] == [{"courtesy": 4.0}]
    assert len(model.bodies) == 2 * 4
    (self_agreement,) = [
        one for one in reply.json()["summary"]["agreement"] if one["dimension"] == "courtesy"
    ]
    assert (self_agreement["between"], self_agreement["n"], self_agreement["exact"]) == ("samples", 1, 1.0)


async def test_a_request_overrides_the_settings_of_the_service() -> None:
    asked = Asked(samples=3, aggregate="median", dimensions="rubric")
    async with running(settings=JudgeSettings(server=LOCAL, asked=asked)) as (_, client):
        known = (await client.get("/judges")).json()
        default = (await client.post(PATH, json={"items": items("a")})).json()["judgements"][0]
        own = (await client.post(PATH, json={"items": items("a"), "samples": 1})).json()["judgements"][0]
        (courtesy,) = (
            await client.post(PATH, json={"items": items("a"), "dimensions": [COURTESY], "judges": ["fixed"]})
        ).json()["judgements"]
    assert courtesy["scores"] == [{"courtesy": 0.0}, {"courtesy": 4.0}]
    assert known["asked"] == {"dimensions": "rubric", "samples": 3, "aggregate": "median"}
    assert known["judges"] == [{"name": "fixed", "version": "1", "kind": "rule"}]
    assert default["key"] != own["key"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "/items"),
        ({"items": []}, "/items"),
        ({"items": [{"turns": []}], "samples": 0}, "/samples"),
        ({"items": [{"turns": []}], "samples": None}, "/samples"),
        ({"items": [{"turns": []}], "aggregate": "max"}, "/aggregate"),
        ({"items": [{"turns": []}], "judges": ["x"]}, "/judges"),
        ({"items": [{"turns": []}], "score": 10}, "/score"),
        ({"items": [{"turns": []}, {"turns": [{"action": 1}]}]}, "/items/1/turns/0/action"),
        ({"items": [{"background": "b", "names": ["A"], "log": []}]}, "/items/0/names/1"),
        ({"items": [{"turns": []}], "dimensions": [COURTESY, COURTESY]}, "/dimensions"),
        ({"items": [{"turns": []}], "dimensions": "kindness"}, "/dimensions"),
        ([], ""),
    ],
)
async def test_what_makes_no_sense_is_refused_with_its_place_and_nobody_is_asked(
    body: Any, path: str
) -> None:
    judge = Fixed()
    async with running(judge) as (_, client):
        reply = await client.post(PATH, json=body)
    assert problem(reply) == (422, "validation")
    assert path in [error["path"] for error in reply.json()["errors"]]
    assert judge.asked == []


async def test_batches_and_bodies_are_bounded() -> None:
    server = LOCAL.model_copy(update={"max_body_bytes": 5_000})
    async with running(settings=JudgeSettings(server=server, max_items=2)) as (_, client):
        many = await client.post(PATH, json={"items": [{"turns": []}] * 3})
        assert problem(many) == (413, "payload-too-large")
        assert (many.json()["max_items"], many.json()["retryable"]) == (2, False)
        assert (await client.post(PATH, json={"items": [{"turns": []}] * 2})).status_code == 200
        long = await client.post(PATH, json={"items": [{"turns": [], "instruction": "x" * 5_000}]})
        assert (problem(long), long.json()["max_bytes"]) == ((413, "payload-too-large"), 5_000)
        broken = await client.post(
            PATH, content=b'{"items": [NaN]}', headers={"content-type": "application/json"}
        )
        assert problem(broken) == (400, "invalid-json")
        text = await client.post(PATH, content=b"{}", headers={"content-type": "text/plain"})
        assert problem(text) == (415, "unsupported-media-type")


async def test_too_many_requests_at_once_are_sent_away() -> None:
    stuck = Stuck()
    async with running(stuck, settings=JudgeSettings(server=LOCAL, max_requests=1)) as (service, client):
        waiting = asyncio.create_task(client.post(PATH, json={"items": items("a")}))
        await stuck.begun.wait()
        refused = await client.post(PATH, json={"items": items("b")})
        assert problem(refused) == (429, "too-many-in-flight")
        assert refused.headers["retry-after"] == "1"
        assert (await client.get("/health")).json()["requests"] == {"active": 1, "max": 1}
        await service.abandon()
        assert problem(await waiting) == (503, "draining")


async def test_a_service_that_stops_refuses_requests_and_ends_running_ones() -> None:
    stuck = Stuck()
    async with running(stuck) as (service, client):
        waiting = asyncio.create_task(client.post(PATH, json={"items": items("a", "b")}))
        await stuck.begun.wait()
        service.drain()
        assert problem(await client.post(PATH, json={"items": items("c")})) == (503, "draining")
        health = await client.get("/health")
        assert (health.status_code, health.json()["status"]) == (503, "draining")
        idle = asyncio.create_task(service.idle())
        await asyncio.sleep(0)
        assert not idle.done()
        await service.abandon()
        assert problem(await waiting) == (503, "draining")
        await idle
    assert stuck.cancelled == 2


async def test_a_caller_who_leaves_cancels_the_calls_of_the_request() -> None:
    stuck = Stuck()
    service = JudgeService(Panel([stuck]), JudgeSettings(server=LOCAL))
    body = json.dumps({"items": items("a", "b")}).encode()
    caller = LeavingCaller(PATH, body[:9], body[9:])
    call = asyncio.create_task(caller.call(application(service)))
    await stuck.begun.wait()
    assert service.active == 1
    caller.hang_up()
    await call
    assert (caller.sent, stuck.cancelled, service.active) == ([], 2, 0)


async def test_who_may_what() -> None:
    server = ServerSettings(token="top", trainer_token="middle", agent_token="low")
    async with running(settings=JudgeSettings(server=server)) as (_, client):
        assert (await client.get("/health")).json() == {"status": "healthy"}
        assert problem(await client.post(PATH, json={"items": items("a")})) == (401, "unauthorized")
        allowed = {}
        for token in ("top", "middle", "low"):
            headers = {"authorization": f"Bearer {token}"}
            allowed[token] = [
                (await client.request(method, path, json=body, headers=headers)).status_code
                for method, path, body in (
                    ("POST", PATH, {"items": items("a")}),
                    ("GET", "/judges", None),
                    ("GET", "/metrics", None),
                )
            ]
    assert allowed == {"top": [200, 200, 200], "middle": [200, 200, 403], "low": [403, 403, 403]}


async def test_other_sites_may_not_call_a_service_on_loopback() -> None:
    async with running() as (_, client):
        for headers in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
            reply = await client.post(PATH, json={"items": items("a")}, headers=headers)
            assert problem(reply) == (403, "forbidden-origin")


async def test_other_routes_and_methods() -> None:
    async with running() as (_, client):
        assert problem(await client.get("/nowhere")) == (404, "not-found")
        assert problem(await client.get(PATH)) == (405, "method-not-allowed")
        assert (await client.get("/ready")).status_code == 200
        document = (await client.get("/openapi.json")).json()
    assert sorted(document["paths"]) == ["/health", "/judgements", "/judges", "/metrics", "/ready"]


async def test_what_is_counted() -> None:
    model = Model(None, 400)
    judge = model_judge(model, prompt_price=2.0, completion_price=10.0, concurrency=1)
    async with running(judge, Fixed("rule")) as (_, client):
        await client.post(PATH, json={"items": items("a", "b")})
        text = (await client.get("/metrics")).text
        judged = (await client.get("/health")).json()["judged"]
    for line in (
        'agentevol_judgements_total{outcome="ok"} 1.0',
        'agentevol_judgements_total{outcome="judge"} 1.0',
        'agentevol_judge_opinions_total{judge="rule",outcome="ok"} 2.0',
        'agentevol_judge_calls_total{judge="openai:m"} 2.0',
        'agentevol_judge_tokens_total{judge="openai:m",kind="prompt"} 100.0',
        'agentevol_judge_cost_dollars_total{judge="openai:m"} 0.0004',
        "agentevol_judge_requests_active 0.0",
        'agentevol_judge_request_seconds_count{result="failed"} 1.0',
        'agentevol_http_requests_total{method="POST",route="/judgements",status="200"} 1.0',
    ):
        assert line in text.splitlines()
    assert judged == {"ok": 1, "judge": 1}
    assert "Hello" not in text
