"""Models in a conversation: a partner's actions and a judge's scores, and what an endpoint may do wrong."""

import asyncio
import json
from typing import Any

import httpx
import pytest

from agentgym_envs.endpoints.cache import AnswerCache
from agentgym_envs.sotopia.models.judge import JudgeFault, JudgeModel, judged
from agentgym_envs.sotopia.models.partner import ModelPartner, PartnerFault, PartnerModel
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.prompts import agent_prompt

URL = "http://model.invalid/v1"
NAMES = ("Ana Reed", "Bo Lind")


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentgym_envs.endpoints.retries.FIRST_PAUSE_S", 0.0)


class Replies:
    """An endpoint that gives these replies in order, the last again and again."""

    def __init__(self, *replies: str) -> None:
        self._replies = list(replies)
        self.bodies: list[dict[str, Any]] = []

    @property
    def transport(self) -> httpx.MockTransport:
        return httpx.MockTransport(self._answer)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.bodies.append(json.loads(request.content))
        text = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        return httpx.Response(200, json={"choices": [{"message": {"content": text}}]})


def speak(text: str) -> str:
    return json.dumps({"action_type": "speak", "argument": text})


def talk() -> Conversation:
    conversation = Conversation(NAMES, ("Ana's view", "Bo's view"))
    conversation.apply({0: Action(action_type="speak", argument="Hello!")})
    return conversation


def act(replies: Replies, **settings: Any) -> Action:
    model = PartnerModel(base_url=URL, model="m", **settings)
    return asyncio.run(ModelPartner(model, 7, transport=replies.transport).act(talk(), 1))


def judgement(goal: object, keys: tuple[str, str] = ("agent_1", "agent_2")) -> str:
    entry = {one.name: ["why", max(one.low, 0) if one.high >= 0 else 0] for one in SOTOPIA}
    return json.dumps({"evaluations": {key: entry | {"goal": ["why", goal]} for key in keys}})


def scores(replies: Replies, **settings: Any) -> Any:
    model = JudgeModel(base_url=URL, model="m", **settings)
    return asyncio.run(judged("the conversation", NAMES, model, transport=replies.transport))


def test_a_partner_reads_its_own_seat_and_acts() -> None:
    replies = Replies(speak("Good day."))
    assert act(replies) == Action(action_type="speak", argument="Good day.")
    (body,) = replies.bodies
    assert body["messages"] == [{"role": "user", "content": agent_prompt(talk(), 1)}]
    assert "Bo's view" in body["messages"][0]["content"]
    assert "Ana's view" not in body["messages"][0]["content"]
    assert body["temperature"] == 0.7
    assert body["seed"] == 8
    assert "response_format" not in body


def test_a_partners_thoughts_are_no_words() -> None:
    assert act(Replies(f"<think>cheap</think>\n{speak('Hi')}")).argument == "Hi"


def test_a_partner_that_does_not_act_is_asked_again_and_then_fails() -> None:
    replies = Replies("Hello!", speak("Hi"))
    assert act(replies).argument == "Hi"
    assert replies.bodies[1]["messages"][1] == {"role": "assistant", "content": "Hello!"}
    assert "That is no action" in replies.bodies[1]["messages"][2]["content"]
    with pytest.raises(PartnerFault, match=r"the partner's endpoint failed 3 times.*not JSON"):
        act(Replies("Hello!"))


def test_structured_output_is_asked_for_where_it_is_set() -> None:
    replies = Replies(speak("Hi"))
    act(replies, structured=True)
    asked = replies.bodies[0]["response_format"]
    assert asked["type"] == "json_schema"
    assert asked["json_schema"]["schema"]["required"] == ["action_type", "argument"]


def test_a_judge_scores_both_seats() -> None:
    replies = Replies(judgement(9))
    found = scores(replies)
    assert found.scores[0]["goal"] == found.scores[1]["goal"] == 9.0
    assert found.overall[0] == pytest.approx(9 / 7)
    assert replies.bodies[0]["temperature"] == 0.0


@pytest.mark.parametrize(("aggregate", "goal"), [("mean", 5.0), ("median", 4.0)], ids=["mean", "median"])
def test_samples_are_aggregated_and_their_spread_is_told(aggregate: str, goal: float) -> None:
    found = scores(Replies(judgement(2), judgement(4), judgement(9)), samples=3, aggregate=aggregate)
    assert found.scores[0]["goal"] == goal
    assert found.spread[0]["goal"] == 7.0
    assert len(found.samples) == 3


@pytest.mark.parametrize("reply", ["8 of 10", judgement(11), judgement(5, ("agent_1", "agent_3")), ""])
def test_a_reply_that_is_no_judgement_is_no_score(reply: str) -> None:
    with pytest.raises(JudgeFault, match="the judge's endpoint failed 3 times"):
        scores(Replies(reply))


def test_one_sample_that_fails_fails_the_judgement() -> None:
    with pytest.raises(JudgeFault):
        scores(Replies(judgement(5), "no", "no", "no"), samples=2)


def test_after_a_sample_that_fails_the_others_are_given_up() -> None:
    asked = 0

    async def answer(_request: httpx.Request) -> httpx.Response:
        nonlocal asked
        asked += 1
        if asked > 1:
            await asyncio.Event().wait()
        return httpx.Response(400, text="no")

    async def ask() -> None:
        model = JudgeModel(base_url=URL, model="m", samples=3, concurrency=2)
        with pytest.raises(JudgeFault, match="status 400"):
            await judged("the conversation", NAMES, model, transport=httpx.MockTransport(answer))
        left = asyncio.all_tasks() - {asyncio.current_task()}
        waiting = (await asyncio.wait(left, timeout=1))[1] if left else set()
        assert not waiting

    asyncio.run(ask())
    assert asked > 1


def test_who_is_late_says_why_nothing_came() -> None:
    def busy(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(429, text="slow down", headers={"Retry-After": "60"})

    transport, slow = httpx.MockTransport(busy), {"base_url": URL, "model": "m", "timeout_s": 0.01}
    told = r"no (action|judgement) within 0\.\d+ s; the latest failure: .*429: slow down"
    with pytest.raises(PartnerFault, match=told):
        asyncio.run(ModelPartner(PartnerModel.of(slow), 7, transport=transport).act(talk(), 1))
    with pytest.raises(JudgeFault, match=told):
        asyncio.run(judged("the conversation", NAMES, JudgeModel.of(slow), transport=transport))


def test_equal_conversations_are_judged_once_a_sample() -> None:
    replies, cache = Replies(judgement(5)), AnswerCache()
    model = JudgeModel(base_url=URL, model="m", samples=2)

    async def ask(prompt: str) -> Any:
        return await judged(prompt, NAMES, model, cache=cache, transport=replies.transport)

    async def ask_all() -> None:
        await ask("one")
        await ask("one")
        await ask("another")

    asyncio.run(ask_all())
    assert len(replies.bodies) == 4


def test_a_judge_is_repaired_with_the_reason() -> None:
    replies = Replies(judgement(11), judgement(10))
    assert scores(replies).scores[0]["goal"] == 10.0
    assert "the score 11 of goal is outside 0 to 10" in replies.bodies[1]["messages"][2]["content"]
