"""Judge of a run at a judge service: what is asked, what is a score, and replies that are none."""

import json
from typing import Any

import httpx
import pytest

from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.judges import JudgedEpisode, JudgedTurn, Verdict
from agentevol.data.judges.judging import judge_of
from agentevol.data.judges.service import ServiceJudge

URL = "http://judges.invalid:8000"
EPISODE = JudgedEpisode("house", "t1", "Find the lamp.", "A hall.", (JudgedTurn("look", "A lamp."),))
MODEL = {"name": "openai:m", "version": "1", "kind": "openai"}
RULE = {"name": "rule", "version": "1", "kind": "rule"}


def ok(**changed: Any) -> dict[str, Any]:
    """A judgement of the service: courtesy 3 of 0 to 4, speed 1 of 0 to 2."""
    scores: dict[str, Any] = {"courtesy": 3.0, "speed": 1.0}
    sample = {"scores": [scores], "reasons": [{"courtesy": "it asks", "speed": ""}]}
    opinion = {
        **{"judge": "openai:m", "version": "1", "status": "ok"},
        **{"scores": [scores], "spread": [scores], "samples": [sample]},
    }
    found = {
        **{"id": "", "key": "k", "status": "ok", "opinions": [opinion], "scores": [scores]},
        **{"overall": [2.0], "normalised": [{"courtesy": 0.75, "speed": 0.5}], "spread": [scores]},
    }
    return {"judgements": [{**found, **changed}], "summary": {}}


class Service:
    """A judge service in this process."""

    def __init__(self, reply: Any = None, judges: Any = (MODEL, RULE), status: int = 200) -> None:
        self.reply, self.judges, self.status = ok() if reply is None else reply, judges, status
        self.bodies: list[dict[str, Any]] = []
        self.tokens: list[str | None] = []
        self.transport = httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.tokens.append(request.headers.get("authorization"))
        if request.method == "GET":
            assert request.url.path == "/judges"
            return httpx.Response(self.status, json={"judges": list(self.judges), "asked": {"samples": 1}})
        self.bodies.append(json.loads(request.content))
        if isinstance(self.reply, bytes):
            return httpx.Response(200, content=self.reply)
        if isinstance(self.reply, int):
            return httpx.Response(self.reply, json={"detail": "no"})
        return httpx.Response(200, json=self.reply)


def judge(service: Service, **options: Any) -> ServiceJudge:
    return ServiceJudge(service.transport, url=URL, **options)


async def test_an_episode_is_sent_as_a_transcript_and_the_mean_of_the_shares_is_the_score() -> None:
    service = Service()
    asked = judge(service, judges="openai:m", dimensions="rubric", samples=3)
    assert await asked.judge(EPISODE) == Verdict(
        (0.75 + 0.5) / 2, "courtesy: it asks", {"courtesy": 3.0, "speed": 1.0}
    )
    (body,) = service.bodies
    assert {name: body[name] for name in ("judges", "dimensions", "samples")} == {
        "judges": ["openai:m"],
        "dimensions": "rubric",
        "samples": 3,
    }
    (item,) = body["items"]
    assert item["turns"] == [{"action": "look", "observation": "A lamp."}]
    assert (item["type"], item["env"], item["instruction"]) == ("transcript", "house", "Find the lamp.")
    await asked.close()


async def test_members_that_a_newer_service_adds_are_not_read() -> None:
    reply = {**ok(mood="good"), "took_s": 1.0}
    assert (await judge(Service(reply, judges=[{**MODEL, "since": 2030}])).judge(EPISODE)).score == 0.625


async def test_one_dimension_may_be_the_score() -> None:
    assert (await judge(Service(), dimension="courtesy").judge(EPISODE)).score == 0.75
    missing = await judge(Service(), dimension="wit").judge(EPISODE)
    assert missing == Verdict(None, "the service gave no score of wit")


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({}, "the service's answer is no judgement: Field required"),
        ([], "the service's answer is no judgement"),
        ({"judgements": []}, "the service gave 0 judgements of one episode"),
        ({"judgements": ok()["judgements"] * 2}, "the service gave 2 judgements of one episode"),
        (ok(scores=[{"courtesy": "high"}]), "the service's answer is no judgement"),
        (ok(status="failed", kind="timeout", detail="late"), "failed(timeout): late"),
        (ok(scores=[], normalised=[]), "the service judged 0 seats of one"),
        (ok(normalised=[{"courtesy": None}]), "the service gave no scores"),
        (ok(status="great"), "the service's answer is no judgement"),
        (ok(normalised=None), "the service's answer is no judgement"),
    ],
)
async def test_a_reply_that_is_no_judgement_is_no_score(reply: Any, reason: str) -> None:
    found = await judge(Service(reply)).judge(EPISODE)
    assert found.score is None
    assert found.reason.startswith(reason)


@pytest.mark.parametrize("reply", [b"", b"<html>", b'{"judgements": [NaN', 413, 401, 500])
async def test_a_service_that_gives_no_usable_answer_is_a_fault(reply: Any) -> None:
    asked = judge(Service(reply))
    if reply == b"":
        assert (await asked.judge(EPISODE)).score is None
        return
    with pytest.raises(PolicyFault):
        await asked.judge(EPISODE)


async def test_a_number_outside_of_the_range_is_no_score_of_a_run() -> None:
    from agentevol.data.judges.judging import fault_of

    found = await judge(Service(ok(normalised=[{"courtesy": 7.0}]))).judge(EPISODE)
    assert fault_of(found, ServiceJudge.scale) == "gave the score 7.0, not a number from 0 to 1"


def test_the_version_is_that_of_the_judges_and_of_what_is_asked() -> None:
    newer = Service(judges=({**MODEL, "version": "2"}, RULE))
    versions = {
        judge(Service()).version,
        judge(newer).version,
        judge(Service(), judges="rule").version,
        judge(Service(), dimension="courtesy").version,
        judge(Service(), samples=2).version,
        judge(Service(), dimensions='[{"name": "a", "low": 0, "high": 1}]').version,
    }
    assert len(versions) == 6
    assert judge(Service()).version == judge(Service()).version
    # Another judge of the service changes nothing for a run that does not ask it.
    assert judge(newer, judges="rule").version == judge(Service(), judges="rule").version
    assert [judge(Service(), judges=names).stochastic for names in ("rule", "openai:m", "")] == [
        False,
        True,
        True,
    ]


async def test_the_token_is_sent_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTEVOL_TOKEN", "top-secret")
    service = Service()
    await judge(service).judge(EPISODE)
    assert service.tokens == ["Bearer top-secret"] * 2
    monkeypatch.setenv("OTHER", "other-secret")
    other = Service(500)
    with pytest.raises(PolicyFault) as raised:
        await judge(other, api_key_env="OTHER").judge(EPISODE)
    assert set(other.tokens) == {"Bearer other-secret"}
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("service", "options", "complaint"),
    [
        (Service(), {"url": "ftp://h"}, "the judge service: 'ftp://h' is no URL"),
        (Service(), {"judges": "rule, gpt"}, "has no judge 'gpt'; there are: openai:m, rule"),
        (Service(), {"dimensions": "[1"}, "are no JSON"),
        (Service(), {"api_key_env": "NO_SUCH_TOKEN"}, "NO_SUCH_TOKEN is not set"),
        (Service(status=401), {}, "refuses the token: AGENTEVOL_TOKEN holds it"),
        (Service(judges=()), {}, "is no judge service: GET /judges gave 200"),
    ],
)
def test_a_service_that_cannot_be_asked_is_refused_before_a_run(
    service: Service, options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ConfigError, match=complaint):
        ServiceJudge(service.transport, **{"url": URL, **options})


def test_a_service_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"judge service at http://127\.0\.0\.1:1 does not answer: Connect"):
        judge_of("service", {"url": "http://127.0.0.1:1"})
