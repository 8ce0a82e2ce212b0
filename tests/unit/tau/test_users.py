"""Simulated users: the stub, the one by rules, and the one of an endpoint."""

import asyncio
from typing import Any, cast

import pytest
from support.tau import USER_MODEL, call, endpoint, settled, wired

from agentgym_envs.core import Observation, StepResult
from agentgym_envs.tau.retail import TauRetail
from agentgym_envs.tau.tasks import Scenario
from agentgym_envs.tau.telecom import TauTelecom
from agentgym_envs.tau.telecom.tools import PHONE_TOOLS
from agentgym_envs.tau.users import (
    LanguageModelUser,
    UserFault,
    can_be_scripted,
    has_stopped,
)
from agentgym_envs.tau.users.scripted import ScriptedUser

SCENARIO = Scenario(
    reason="You want to return the lamp of your order #W1234567.",
    known="You are Ann Lee in zip code 12345.",
    unknown="You do not remember your email address.",
    instructions="You also want to know the refund. If asked, you are in a hurry.",
)


def test_stop_marks_end_a_dialogue() -> None:
    assert [
        has_stopped(text) for text in ("###STOP###", "ok ###TRANSFER###", "STOP", "###OUT-OF-SCOPE###")
    ] == [
        *(True, True, False, True),
    ]


def test_a_scripted_user_answers_from_its_scenario_only() -> None:
    user = ScriptedUser(SCENARIO)
    assert user.open(None) == "I want to return the lamp of my order #W1234567."
    assert user.answer("What is your name and zip code?") == "My zip code is 12345. My name is Ann Lee."
    assert user.answer("Could you tell me your email?") == "I do not remember my email."
    assert user.answer("I will refund it to your card. Do you confirm (yes/no)?") == "Yes, please."
    assert user.answer("The return has been requested.") == "I also want to know the refund."
    assert user.answer("It is 20 USD.") == "If asked, I am in a hurry."
    assert user.answer("Is there anything else?") == "###STOP###"
    assert ScriptedUser(SCENARIO).answer("You are being transferred to a human agent.") == "###TRANSFER###"


def test_a_scripted_user_ends_a_dialogue_that_goes_in_circles() -> None:
    user = ScriptedUser(Scenario(reason="You want a refund.", known="You are Ann Lee."))
    said = [user.answer("Hm.") for _ in range(5)]
    assert said == [*["I have nothing to add."] * 3, "###STOP###", "###STOP###"]


def test_a_dialogue_with_the_scripted_user_is_judged_when_the_user_stops() -> None:
    environment = TauRetail(user="scripted")
    task = next(one for one in environment.tasks("train") if one.kind == "cancel")
    first = environment.reset(task, 0)
    assert isinstance(first, Observation)
    assert task.instruction == "Help the customer, as the policy says."
    assert task.scenario.reason.replace("You", "I", 1).split()[0] in first.text
    names = [tool["function"]["name"] for tool in first.tools or ()]
    assert "done" not in names
    for action in task.gold:
        environment.step(call(action.name, **action.arguments))
    end = cast("StepResult", environment.step("Your order has been cancelled. Anything else?"))
    assert (end.observation.text, end.terminated, end.reward) == ("###STOP###", True, 1.0)
    assert (end.info["mode"], end.info["user"]) == ("scripted", {"turns": 1})


def test_the_agent_cannot_end_a_dialogue_by_the_users_marks() -> None:
    environment = TauRetail(user="scripted")
    task = environment.tasks("train")[0]
    environment.reset(task, 0)
    assert not cast("StepResult", environment.step("###STOP###")).terminated


def test_the_stub_ends_a_dialogue_at_the_first_message() -> None:
    for environment in (TauRetail(user="stub"), TauTelecom(user="stub")):
        task = environment.tasks("test")[0]
        first = environment.reset(task, 0)
        assert isinstance(first, Observation)
        assert first.text.endswith("Customer: Hello, I need your help.")
        end = cast("StepResult", environment.step("How can I help?"))
        assert (end.terminated, end.reward) == (True, 0.0)


def test_a_model_as_the_user_talks_and_ends_the_dialogue(monkeypatch: pytest.MonkeyPatch) -> None:
    transport, seen = endpoint({"content": "Please cancel my order."}, {"content": "###STOP###"})
    environment = wired(TauRetail(user="llm", user_model=USER_MODEL), transport, monkeypatch)
    task = next(one for one in environment.tasks("train") if one.kind == "cancel")

    async def dialogue() -> tuple[Observation, StepResult]:
        first = await settled(environment.reset(task, 3))
        for action in task.gold:
            await settled(environment.step(call(action.name, **action.arguments)))
        return first, await settled(environment.step("<think>hm</think>It is cancelled."))

    first, end = asyncio.run(dialogue())
    assert first.text.endswith("Customer: Please cancel my order.")
    assert (end.reward, end.terminated, end.observation.text) == (1.0, True, "###STOP###")
    assert (seen[0]["model"], seen[0]["temperature"], seen[0]["seed"]) == ("tiny", 0.0, 3)
    assert seen[0]["messages"][1] == {"role": "user", "content": "Hi! How can I help you today?"}
    assert seen[1]["messages"][-1] == {"role": "user", "content": "It is cancelled."}
    user = end.info["user"]
    assert (user["requests"], user["prompt_tokens"], user["completion_tokens"]) == (2, 14, 6)
    assert [one["content"] for one in user["transcript"]] == [
        *("Hi! How can I help you today?", "Please cancel my order.", "It is cancelled.", "###STOP###"),
    ]


def test_the_user_of_telecom_holds_the_phone(monkeypatch: pytest.MonkeyPatch) -> None:
    use = {
        "content": None,
        "tool_calls": [{"id": "1", "function": {"name": "toggle_airplane_mode", "arguments": "{}"}}],
    }
    transport, seen = endpoint({"content": "No service!"}, use, {"content": "It works. ###STOP###"})
    environment = wired(TauTelecom(user="llm", user_model=USER_MODEL), transport, monkeypatch)
    task = next(one for one in environment.tasks("train") if one.gold[0].name == "toggle_airplane_mode")

    async def dialogue() -> StepResult:
        await settled(environment.reset(task, 0))
        return await settled(environment.step("Please turn airplane mode off."))

    end = asyncio.run(dialogue())
    assert (end.reward, end.terminated) == (1.0, True)
    assert [tool["function"]["name"] for tool in seen[0]["tools"]] == list(PHONE_TOOLS)
    told = seen[2]["messages"][-1]
    assert (told["role"], told["content"].split("\n")[0]) == ("tool", "Airplane Mode is now OFF.")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ({"status": 503}, "failed 2 times; the last: .* answered with the status 503: overloaded"),
        ({"content": ""}, "answered with an empty message"),
        ({"content": 5}, "failed 2 times; the last: .* answered with no chat completion"),
        (
            {"content": None, "tool_calls": [{"id": "1", "function": {"name": "check_sim_status"}}]},
            "20 rounds of tool calls without a message",
        ),
    ],
)
def test_an_endpoint_without_an_answer_is_a_fault_and_no_reward(message: dict[str, Any], reason: str) -> None:
    transport, seen = endpoint(message)
    seat = (PHONE_TOOLS, lambda tool, arguments: "ok")
    user = LanguageModelUser(SCENARIO, USER_MODEL.model_copy(update={"retries": 1}), 0, seat, transport)
    with pytest.raises(UserFault, match=reason):
        asyncio.run(user.answer_later("Hello"))
    assert len(seen) in (1, 2, 20)


def test_the_endpoint_goes_with_its_mode() -> None:
    with pytest.raises(ValueError, match="goes with user='llm'"):
        TauRetail(user="llm")
    with pytest.raises(ValueError, match="goes with user='llm'"):
        TauRetail(user_model=USER_MODEL)
    with pytest.raises(ValueError, match="no user 'nobody'; there are: solo, stub, scripted, llm"):
        TauRetail(user="nobody")  # type: ignore[arg-type] - what is refused


@pytest.mark.parametrize(
    ("instructions", "offered"),
    [
        ("You want a receipt.", True),
        ("If asked, take the red one.", False),
        ("Later you change your mind.", False),
    ],
)
def test_a_customer_who_decides_in_the_dialogue_is_not_scripted(instructions: str, offered: bool) -> None:
    assert can_be_scripted(Scenario(reason="Return it.", instructions=instructions)) == offered
    assert len(TauRetail(user="scripted").tasks("test")) == len(TauRetail().tasks("test"))
