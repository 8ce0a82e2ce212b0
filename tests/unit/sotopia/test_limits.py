"""Limits of what models in `sotopia` may take: a budget of all calls, and the time of an episode."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from support.sotopia_models import JUDGE, PARTNER, URL, Models, act, judgement, say, settled
from support.sotopia_profiles import LAMP_TASK, TALK_TASK

import agentgym_envs.endpoints.budget
from agentgym_envs.core import StepResult
from agentgym_envs.endpoints.cache import SHARED
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.models.judge import JudgeFault
from agentgym_envs.sotopia.models.partner import PartnerFault


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither answers nor costs of other tests."""
    monkeypatch.setattr(SHARED, "_answers", type(SHARED._answers)())
    monkeypatch.setattr(agentgym_envs.endpoints.budget, "_SHARED", {})


async def played(world: Sotopia, messages: list[str], task: str = TALK_TASK) -> StepResult:
    result = StepResult(observation=await settled(world.reset(world.task(task), 0)))
    for message in messages:
        result = await settled(world.step(message))
    return result


def play(world: Sotopia, messages: list[str], task: str = TALK_TASK) -> StepResult:
    return asyncio.run(played(world, messages, task))


def table(model: str, **more: Any) -> str:
    return json.dumps({"model": model, "base_url": URL, **more})


def test_partner_and_judge_spend_one_budget_and_then_nobody_is_asked(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(talker=[say("Hm.")], judge=[judgement()]).wired(monkeypatch)
    given = {
        **PARTNER,
        **JUDGE,
        "judge_cache": False,
        "budget": "330 tokens",
        "unjudged": str(tmp_path / "u"),
    }
    # A call is 110 tokens: two partners' and a judge's are 330.
    end = play(Sotopia(home=home, **given), [say("One."), say("Two."), act("leave")])
    assert (end.reward, len(models.bodies)) == (0.8, 3)
    with pytest.raises(JudgeFault, match=r"^the budget of 330 tokens is spent\n"):
        play(Sotopia(home=home, **given), [act("leave")])
    with pytest.raises(PartnerFault, match=r"^the budget of 330 tokens is spent\n"):
        play(Sotopia(home=home, **given), [say("One.")])
    assert len(models.bodies) == 3
    kept = [json.loads(line) for line in (tmp_path / "u").read_text().splitlines()]
    assert [(one["status"], one["failure"]["kind"]) for one in kept] == [
        ("unjudged", "judge"),
        ("unfinished", "partner"),
    ]
    assert play(Sotopia(home=home, **{**given, "budget": "331 tokens"}), [say("Two.")]).reward == 0  # another


def test_an_answer_that_is_known_costs_nothing_of_a_spent_budget(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(judge=[judgement()]).wired(monkeypatch)
    worlds = [Sotopia(home=home, budget="1 tokens", **JUDGE) for _ in range(2)]
    assert [play(one, [act("leave")], LAMP_TASK).reward for one in worlds] == [0.8, 0.8]
    assert len(models.bodies) == 1


def test_dollars_are_those_of_the_prices_and_need_them(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(talker=[say("Hm.")]).wired(monkeypatch)
    priced = table("talker", prompt_price=1.0, completion_price=10.0)  # 0.0002 dollars a call
    world = Sotopia(home=home, judge="none", partner_model=priced, budget="0.0003usd")
    with pytest.raises(PartnerFault, match=r"the budget of \$0\.0003 is spent"):
        play(world, [say("One."), say("Two."), say("Three.")])
    assert len(models.bodies) == 2
    with pytest.raises(ValueError, match=r"^sotopia: a budget in dollars needs the prices of 'judge'$"):
        Sotopia(partner_model=priced, judge_model=table("judge"), budget="1usd")


def test_a_call_that_has_waited_while_others_spent_is_not_made(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def main() -> None:
        go, asked = asyncio.Event(), asyncio.Event()

        async def slow() -> str:
            asked.set()
            await go.wait()
            return say("Hm.")

        models = Models(talker=[slow]).wired(monkeypatch)
        given = {"judge": "none", "concurrency": 1, "budget": "50 tokens", **PARTNER}
        first, *others = (
            asyncio.ensure_future(played(Sotopia(home=home, **given), [say(f"{n}")])) for n in range(4)
        )
        await asked.wait()
        go.set()
        assert (await first).observation.text.endswith('said: "Hm."')
        found = await asyncio.gather(*others, return_exceptions=True)
        assert [str(one) for one in found] == ["the budget of 50 tokens is spent"] * 3
        assert len(models.bodies) == 1

    asyncio.run(main())


@pytest.mark.parametrize("role", ["partner", "judge"])
def test_an_episode_beyond_its_time_fails_by_the_kind_of_who_is_waited_for(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: str
) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    answers: dict[str, Any] = {"talker": [say("Hm.")], "judge": [judgement()]}
    Models(**answers | {"talker" if role == "partner" else "judge": [never]}).wired(monkeypatch)
    world = Sotopia(home=home, episode_timeout_s=0.05, unjudged=str(tmp_path / "u"), **PARTNER, **JUDGE)
    assert world.waits_s == 0.05
    message = say("Hello.") if role == "partner" else act("leave")
    with pytest.raises(
        (PartnerFault, JudgeFault), match=r"^the episode takes longer than 0\.05 s\n"
    ) as raised:
        play(world, [message])
    assert raised.value.kind == role
    (record,) = map(json.loads, (tmp_path / "u").read_text().splitlines())
    assert record["log"][0][0][1] == ("Hello." if role == "partner" else "")


def test_time_runs_on_while_the_agent_thinks_and_in_a_copy(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr("agentgym_envs.sotopia.environment.time.monotonic", lambda: clock)

    async def later() -> str:
        await asyncio.sleep(0)
        return say("Hm.")

    async def main() -> None:
        nonlocal clock
        world = Sotopia(home=home, judge="none", episode_timeout_s=600, **PARTNER)
        assert (await played(world, [say("One.")])).observation.text.endswith('said: "Hm."')
        clock += 599
        assert (await settled(world.step(say("Two.")))).observation.text.endswith('said: "Hm."')
        copy = Sotopia(home=home, judge="none", episode_timeout_s=600, **PARTNER)
        copy.restore(world.snapshot())
        clock += 2
        for one in (world, copy):
            with pytest.raises(PartnerFault, match="the episode takes longer than 600 s"):
                await settled(one.step(say("Three.")))
        # Another episode has its own time, and the end of a conversation waits for nobody.
        fresh = await played(world, [say("One."), act("leave")])
        assert (fresh.terminated, fresh.info["trainable"]) == (True, False)

    Models(talker=[later]).wired(monkeypatch)
    asyncio.run(main())


def test_a_judge_alone_limits_neither_the_start_nor_a_partner_by_rules(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Models(judge=[judgement()]).wired(monkeypatch)
    world = Sotopia(home=home, episode_timeout_s=60, **JUDGE)
    world.reset(world.task(LAMP_TASK), 0)  # not in an event loop
    assert play(world, [say("Hello."), act("leave")], LAMP_TASK).reward == 0.8


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"budget": "1usd"},
            "sotopia: budget is of models: give partner_model and partner_url, or the judge's",
        ),
        ({"episode_timeout_s": 5}, "sotopia: episode_timeout_s is of models: give partner_model"),
        ({"budget": "5", **JUDGE}, "sotopia: the budget '5' is neither dollars, as 2.50usd, nor tokens"),
        ({"episode_timeout_s": 0, **JUDGE}, "sotopia: episode_timeout_s=0: Input should be greater than 0"),
    ],
)
def test_a_limit_of_nothing_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the text is compared below
        Sotopia(**options)
    assert str(raised.value).startswith(told)
    assert "\n" not in str(raised.value)
