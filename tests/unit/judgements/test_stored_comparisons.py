"""Comparisons of stored episodes in both orders, and corrections by principles."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.judging import URL, Fixed, Model, completion, model_judge
from support.ui import episode

from agentevol.core.errors import ConfigError
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.feedback.asking import Asking, Outcome
from agentevol.data.judgements.feedback.comparisons import (
    Comparisons,
    Preferred,
    agreed,
    probability_of_a,
)
from agentevol.data.judgements.feedback.plans import carry_out, plan
from agentevol.data.judgements.feedback.principles import Principles, read_principles
from agentevol.data.judgements.feedback.subjects import Subject, pairs
from agentevol.data.judgements.judges.endpoint import EndpointJudge
from agentgym_envs.endpoints.records import SampledToken
from agentgym_envs.sotopia.models.judge import JudgeModel
from agentgym_store.feedback.latest import standing
from agentgym_store.feedback.records import Comparison, Correction, Feedback
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.store import Store, Where

PAIR = [Subject(("a", "b"))]


@pytest.fixture
def store(tmp_path: Path) -> Store:
    table = Store.open(tmp_path / "trajectories")
    played = [
        episode("a", (0.0, 1.0)),
        episode("b", (0.0,)),
        episode("c", (0.0, 0.0, 0.0)),
        episode("alike", (0.0,)),
        episode("other", (0.0, 0.0), task_id="guess-7"),
    ]
    table.append(played, commit={"n": "1"})
    return table


class Judging:
    """Endpoint whose answers are a function of the transcripts of A and B, or of the whole request."""

    def __init__(self, answer: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]) -> None:
        self._answer = answer
        self.asked = 0
        self.bodies: list[dict[str, Any]] = []

    def judge(self) -> EndpointJudge:
        transport = httpx.MockTransport(self._reply)
        return EndpointJudge(JudgeModel(base_url=URL, model="m"), Conversations(), transport=transport)

    def _reply(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked += 1
        self.bodies.append(body)
        told = json.loads(body["messages"][1]["content"].removeprefix("Transcripts:\n"))
        return httpx.Response(200, json=self._answer(told["A"], told["B"]))


def reasoned(better: str) -> dict[str, Any]:
    return completion(json.dumps({"reason": f"because {better}", "better": better}))


def letter(a: float, b: float) -> dict[str, Any]:
    """An answer with the probabilities of both letters."""
    top = [{"token": token, "logprob": math.log(p)} for token, p in (("A", a), (" B", b), ("The", 0.01))]
    said = "A" if a > b else "B"
    told = completion(said)
    told["choices"][0]["logprobs"] = {"content": [{"token": said, "logprob": -0.1, "top_logprobs": top}]}
    return told


def judged(asking: Asking, store: Store, subjects: list[Subject]) -> tuple[list[Feedback], Outcome]:
    table = FeedbackTable.beside(str(store.place))
    found = plan(asking, subjects, table.records())
    outcome = carry_out(found, store, table, concurrency=1, timeout_s=5.0)
    return table.records(), outcome


def test_a_judge_that_agrees_with_itself_in_both_orders_prefers(store: Store) -> None:
    model = Judging(lambda a, b: reasoned("A" if len(a["turns"]) > len(b["turns"]) else "B"))
    (record,), outcome = judged(Comparisons(model.judge()), store, PAIR)
    assert record.opinion == Comparison(other="b", verdict="better")
    assert (record.trajectory_id, record.source) == ("a", "judge:m")
    assert record.note == "because A / because B"
    assert (model.asked, outcome.usage.requests) == (2, 2)
    _, outcome = judged(Comparisons(model.judge()), store, PAIR)
    assert (model.asked, outcome.judged) == (2, 0)


@pytest.mark.parametrize("always", ["A", "B", "tie"])
def test_a_judge_that_prefers_a_place_calls_it_a_tie(always: str, store: Store) -> None:
    (record,), _ = judged(Comparisons(Judging(lambda *_: reasoned(always)).judge()), store, PAIR)
    assert record.opinion == Comparison(other="b", verdict="tie")


def test_with_probabilities_the_record_has_their_mean_over_both_orders(store: Store) -> None:
    # a is A: 0.6 / (0.6 + 0.2) = 0.75; then a is B: 1 - 0.1 / (0.1 + 0.4) = 0.8
    model = Judging(lambda a, b: letter(0.6, 0.2) if len(a["turns"]) > len(b["turns"]) else letter(0.1, 0.4))
    (record,), _ = judged(Comparisons(model.judge(), probabilities=True), store, PAIR)
    assert isinstance(record.opinion, Comparison)
    assert record.opinion.verdict == "better"
    assert record.opinion.probability == pytest.approx(0.775)
    assert model.bodies[0]["logprobs"] is True
    assert model.bodies[0]["top_logprobs"] == 20


def test_an_endpoint_without_probabilities_gives_a_verdict_alone(store: Store) -> None:
    model = Judging(lambda a, b: completion("A" if len(a["turns"]) > len(b["turns"]) else "B"))
    (record,), _ = judged(Comparisons(model.judge(), probabilities=True), store, PAIR)
    assert record.opinion == Comparison(other="b", verdict="better", probability=None)


@pytest.mark.parametrize(
    ("forward", "backward", "verdict", "probability"),
    [
        (0.9, 0.6, "tie", 0.65),  # the first place is preferred twice
        (0.9, 0.1, "better", 0.9),
        (0.2, 0.9, "worse", 0.15),
        (0.5, 0.2, "tie", 0.65),
        (0.5, 0.5, "tie", 0.5),
    ],
)
def test_two_orders_that_disagree_are_a_tie_and_their_probability_remains(
    forward: float, backward: float, verdict: str, probability: float
) -> None:
    # the letters were sampled, and say the contrary
    found = agreed(Preferred("worse", probability=forward), Preferred("better", probability=backward))
    assert found == (verdict, pytest.approx(probability))


def test_probabilities_are_those_of_the_answers_token() -> None:
    def token(text: str, **top: float) -> SampledToken:
        given = [{"token": name, "logprob": math.log(p)} for name, p in top.items()]
        return SampledToken.model_validate({"token": text, "logprob": -0.5, "top_logprobs": given})

    assert probability_of_a([]) is None
    assert probability_of_a([token("A")]) is None
    assert probability_of_a([token("Hm", A=0.9), token(" A", A=0.3, B=0.1)]) == pytest.approx(0.75)
    assert probability_of_a([token("A", A=0.9, B=0.1), token("."), token("B", A=0.2, B=0.6)]) == 0.25
    assert probability_of_a([token("A", A=0.4, C=0.5)]) == 1.0


def test_answers_that_are_no_verdicts_are_failures(store: Store) -> None:
    for probabilities, answer in ((False, "A"), (False, '{"better": "C", "reason": ""}'), (True, "Both.")):
        asking = Comparisons(model_judge(Model(answer)), probabilities=probabilities)
        records, outcome = judged(asking, store, PAIR)
        assert (records, dict(outcome.failures)) == ([], {"judge": 1})


def test_pairs_are_of_one_task_with_different_actions_and_are_drawn_by_their_names(store: Store) -> None:
    found = pairs(store, Where(), 100)
    assert {one.ids for one in found} == {("a", "b"), ("a", "c"), ("b", "c"), ("a", "alike"), ("alike", "c")}
    some = pairs(store, Where(), 2)
    assert len(some) == 2
    assert some == found[:2]
    store.append([episode("z", (0.0,) * 4, task_id="guess-7")], commit={"n": "2"})
    assert [one for one in pairs(store, Where(), 2) if "other" not in one.ids] == some


def test_an_action_that_breaks_a_principle_is_corrected_with_the_critique_as_note(store: Store) -> None:
    model = Model('{"critique": "It goes back.", "broken": [2]}', '{"action": "go 7"}')
    asking = Principles(model_judge(model), ["Be kind.", "Do not go back {x}."])
    (record,), outcome = judged(asking, store, [Subject(("a",), 1)])
    assert record.opinion == Correction(action="go 7")
    assert (record.turn, record.note, record.withdrawn) == (1, "It goes back.", False)
    assert outcome.usage.requests == 2
    critique, revision = (body["messages"] for body in model.bodies)
    assert "2. Do not go back {x}." in critique[0]["content"]
    told = json.loads(critique[1]["content"].removeprefix("Transcript:\n").rpartition("\n\nWhich")[0])
    assert told["action to judge"] == "go 1"
    assert [one["environment"] for one in told["turns"]] == ["Door 0."]  # not what came of the action
    assert "Revise the action" in revision[-1]["content"]
    assert judged(asking, store, [Subject(("a",), 1)])[1].judged == 0


@pytest.mark.parametrize(
    ("answers", "calls"),
    [
        (['{"critique": "Fine.", "broken": []}'], 1),
        (['{"critique": "Hm.", "broken": [1]}', '{"action": " go 1 "}'], 2),
    ],
)
def test_an_action_that_keeps_the_principles_is_not_corrected_and_not_asked_about_again(
    answers: list[str], calls: int, store: Store
) -> None:
    model = Model(*answers)
    asking = Principles(model_judge(model), ["Be kind."])
    (record,), _ = judged(asking, store, [Subject(("a",), 1)])
    assert record.withdrawn
    assert standing([record]) == []
    judged(asking, store, [Subject(("a",), 1)])
    assert len(model.bodies) == calls


@pytest.mark.parametrize("answer", ['{"critique": "x", "broken": [3]}', '{"critique": "x"}', "[]", "{}"])
def test_a_critique_that_is_none_is_a_failure(answer: str, store: Store) -> None:
    records, outcome = judged(Principles(model_judge(Model(answer)), ["a", "b"]), store, [Subject(("a",), 0)])
    assert (records, dict(outcome.failures)) == ([], {"judge": 1})


def test_principles_are_lines_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "principles.txt"
    file.write_text("# Kitchen\n\nBe kind. \nBe kind.\nLook first.\n")
    assert read_principles(file) == ("Be kind.", "Look first.")
    file.write_text("# nothing\n")
    with pytest.raises(ConfigError, match="has no principles"):
        read_principles(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="no text in UTF-8"):
        read_principles(file)


def test_pairs_and_principles_need_a_model() -> None:
    with pytest.raises(ConfigError, match="pairs are judged by models"):
        Comparisons(Fixed())
    with pytest.raises(ConfigError, match="principles are judged by models"):
        Principles(Fixed(), ["Be kind."])
