"""The check of judges: on this project's own, on the tests' own, and on broken ones."""

import json
from itertools import count

import httpx
import pytest
from support.judges import Brief

from agentevol.core.judges import JudgedEpisode, Verdict
from agentevol.data.judges.check import check_judge
from agentevol.data.judges.rubric import Rubric
from agentevol.data.judges.service import ServiceJudge
from agentgym_envs.testing import Report

HERE = __name__
NUMBERS = count()


def graded(request: httpx.Request) -> httpx.Response:
    """An endpoint that scores by the length of the transcript."""
    length = len(json.loads(request.content)["messages"][1]["content"])
    if length > 100_000:
        return httpx.Response(400, json={"error": {"message": "maximum context length"}})
    content = json.dumps({"reason": "its length", "scores": {"goal": 1 + length % 10}})
    return httpx.Response(200, json={"choices": [{"message": {"content": content}}]})


def rubric(*, model: str = "m") -> Rubric:
    return Rubric(httpx.MockTransport(graded), model=model, dimensions="goal", url="http://h/v1")


def served(request: httpx.Request) -> httpx.Response:
    """A judge service that scores by the length of the transcript."""
    if request.method == "GET":
        known = {"judges": [{"name": "rule", "version": "1", "kind": "rule"}], "asked": {}}
        return httpx.Response(200, json=known)
    (item,) = json.loads(request.content)["items"]
    length = len(json.dumps(item))
    if length > 100_000:
        failed = {"status": "failed", "kind": "judge", "detail": "too long"}
        return httpx.Response(200, json={"judgements": [failed]})
    share = length % 11 / 10
    found = {"status": "ok", "scores": [{"goal": 10 * share}], "normalised": [{"goal": share}]}
    return httpx.Response(200, json={"judgements": [found]})


def service(*, url: str = "http://h") -> ServiceJudge:
    return ServiceJudge(httpx.MockTransport(served), url=url)


class Counting(Brief):
    async def judge(self, episode: JudgedEpisode) -> Verdict:
        return Verdict(float(next(NUMBERS) % 10))


class Guessing(Counting):
    stochastic = True


class High(Brief):
    async def judge(self, episode: JudgedEpisode) -> Verdict:
        return Verdict(10.5)


class Shrug(Brief):
    async def judge(self, episode: JudgedEpisode) -> Verdict:
        return Verdict(None)


class FirstTurn(Brief):
    async def judge(self, episode: JudgedEpisode) -> Verdict:
        return Verdict(float(len(episode.turns[0].action) % 10))


class Impatient(Brief):
    async def judge(self, episode: JudgedEpisode) -> Verdict:
        if len(episode.initial_observation) > 100_000:
            raise MemoryError("too long")
        return Verdict(1.0)


class Remembering(Brief):
    """Scores depend on what was judged before."""

    def __init__(self) -> None:
        super().__init__()
        self.before = 0

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        self.before, was = len(episode.turns), self.before
        return Verdict(float(was))


class Restless(Brief):
    def __init__(self) -> None:
        super().__init__(version=f"v{next(NUMBERS)}")


def failed(report: Report) -> dict[str, str]:
    return {one.name: one.violations[0] for one in report.results if one.violations}


def test_the_judge_of_the_tests_and_a_stochastic_one_pass():
    report = check_judge("support.judges:Brief", {"offset": 0.0})
    assert report.passed, report.lines()
    assert [one.name for one in report.results] == ["verdicts", "extremes", "identity", "equal", "order"]
    guess = check_judge(f"{HERE}:Guessing")
    assert guess.passed, guess.lines()
    assert [one.name for one in guess.results] == ["verdicts", "extremes", "identity"]


def test_the_rubric_passes_on_an_endpoint_with_a_short_context():
    report = check_judge(f"{HERE}:rubric", {"model": "other"})
    assert report.passed, report.lines()


def test_a_judge_at_a_service_passes():
    report = check_judge(f"{HERE}:service")
    assert report.passed, report.lines()
    assert [one.name for one in report.results] == ["verdicts", "extremes", "identity", "equal", "order"]


@pytest.mark.parametrize(
    ("name", "violations"),
    [
        ("Counting", {"equal": "equal episodes have other scores: declare `stochastic = True`"}),
        ("High", {"verdicts": "gave the score 10.5, not a number from 0 to 10, for example 0"}),
        ("Shrug", {"verdicts": "gave neither a score nor a reason, for example 0"}),
        ("FirstTurn", {"extremes": "raised IndexError: tuple index out of range, for example 0"}),
        ("Impatient", {"extremes": "raised MemoryError: too long, for example 11"}),
        ("Remembering", {"order": "episodes have other scores in another order, or alone"}),
    ],
)
def test_a_broken_judge_is_told_apart(name: str, violations: dict[str, str]):
    found = failed(check_judge(f"{HERE}:{name}"))
    assert found.items() >= violations.items()


def test_a_version_that_changes_by_itself_is_found():
    assert failed(check_judge(f"{HERE}:Restless"))["identity"].startswith("version is 'v")
