"""The environment `sotopia` with models: a partner and a judge behind an endpoint, and what may go wrong."""

import asyncio
import json
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.sotopia_models import JUDGE, PARTNER, SCORES, URL, Models, act, judgement, run, say, settled
from support.sotopia_profiles import LAMP_TASK, TALK_TASK, write_profiles

from agentgym_envs.core import DependencyFault, StepResult
from agentgym_envs.endpoints.cache import SHARED
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.models.judge import JudgeFault
from agentgym_envs.sotopia.models.partner import PartnerFault
from agentgym_envs.sotopia.play.records import FORMAT, conversation_of, episode_log_of
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.prompts import agent_prompt, judge_prompt
from agentgym_envs.testing import check_environment

NAMES = [one.name for one in SOTOPIA]


@pytest.fixture(autouse=True)
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SHARED, "_answers", type(SHARED._answers)())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with the invented profiles."""
    import_official(write_profiles(tmp_path / "source"), tmp_path / "home")
    return tmp_path / "home"


async def played(world: Sotopia, task_id: str, messages: list[str], seed: int = 0) -> list[StepResult]:
    await settled(world.reset(world.task(task_id), seed))
    results: list[StepResult] = []
    for message in messages:
        results.append(await settled(world.step(message)))
        if results[-1].terminated or results[-1].truncated:
            break
    return results


def play(world: Sotopia, task_id: str, messages: list[str], seed: int = 0) -> list[StepResult]:
    return asyncio.run(played(world, task_id, messages, seed))


def test_a_model_plays_the_partner_and_reads_its_own_seat(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(talker=[say("Two?"), say("Good.")]).wired(monkeypatch)
    world = Sotopia(home=home, judge="none", **PARTNER)
    one, two, end = play(world, LAMP_TASK, [say("Hello."), say("Fine."), act("leave")], seed=7)
    assert one.observation.text == 'Turn #1: Bo Lind said: "Two?"'
    assert two.observation.text == 'Turn #3: Bo Lind said: "Good."'
    first, second = models.asked("talker")
    talk = conversation_of(end.info["conversation"])
    prompt = second["messages"][0]["content"]
    assert "Bo Lind's goal: You are the buyer" in prompt
    assert "Ana Reed's goal: Unknown" in prompt
    assert "Note: only moves count" not in prompt  # both speak freely: nobody reads moves
    assert agent_prompt(talk, 1).startswith(prompt.partition(".\nYou are at Turn")[0][:400])
    assert (first["temperature"], first["seed"], second["seed"]) == (0.7, 8, 10)
    assert end.info["partner"] == {
        "kind": "openai",
        "model": "talker",
        "host": "models.invalid",
        "temperature": 0.7,
        "max_tokens": 512,
        "requests": 2,
        "cached": 0,
        "prompt_tokens": 200,
        "completion_tokens": 20,
        "estimated": 0,
        "latency_s": end.info["partner"]["latency_s"],
    }


def test_a_partner_in_the_first_seat_is_waited_for_at_the_start(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Models(talker=[say("Hush!")]).wired(monkeypatch)
    world = Sotopia(home=home, judge="none", seat=1, **PARTNER)
    begun = world.reset(world.task(TALK_TASK), 0)
    assert isinstance(begun, Awaitable)
    assert run(begun).text.endswith('Turn #0: Cy Moss said: "Hush!"')
    other = Sotopia(home=home, judge="none", **PARTNER)
    assert "Conversation Starts:" in run(other.reset(other.task(TALK_TASK), 0)).text


def test_a_model_beside_a_verifier_is_told_of_moves(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(talker=[say("I take it. [ACCEPT]")]).wired(monkeypatch)
    (end,) = play(Sotopia(home=home, **PARTNER), LAMP_TASK, [say("[OFFER 32]")])
    assert "[OFFER 72.50] offers a price" in models.bodies[0]["messages"][0]["content"]
    assert (end.reward, end.info["end_reasons"]) == (0.8, ["deal"])
    assert end.info["label"].startswith("outcome verifier; not Sotopia's judge")
    assert "rule-based partner" not in end.info["label"]
    generated = play(Sotopia(**PARTNER), "train/price/1/0", [say("[OFFER 70]")])[-1]
    assert generated.info["facts"]["price"] == 70


def test_a_judge_scores_in_seven_dimensions(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(talker=[say("Hm.")], judge=[judgement()]).wired(monkeypatch)
    world = Sotopia(home=home, **PARTNER, **JUDGE)
    assert (world.deterministic, world.splits[-1]) == (False, "judged")
    end = play(world, TALK_TASK, [say("Hello."), act("leave")])[-1]
    assert (end.reward, end.terminated) == (0.8, True)
    assert end.info["dimensions"] == SCORES
    assert list(end.info["dimensions"]) == NAMES
    assert end.info["overall_score"] == pytest.approx(23 / 7)
    assert end.info["normalised"]["relationship"] == 0.7
    assert (end.info["label"], end.info["view"], end.info["spread"]) == (
        "scores of the judge judge",
        "relationship",
        None,
    )
    talk = conversation_of(end.info["conversation"])
    background = end.info["conversation"]["judge_background"]
    asked = judge_prompt(background, talk.names, talk.log, SOTOPIA)
    (body,) = models.asked("judge")
    assert body["messages"] == [{"role": "user", "content": asked}]
    assert "Cy Moss's goal: Whisper." in background
    assert "Ana Reed's goal: Talk." in background
    judge = end.info["judge"]
    assert {
        name: judge[name] for name in ("kind", "model", "host", "temperature", "samples", "aggregate")
    } == {
        "kind": "openai",
        "model": "judge",
        "host": "models.invalid",
        "temperature": 0.0,
        "samples": 1,
        "aggregate": "mean",
    }
    assert judge["dimensions"] == NAMES
    assert len(judge["prompt_sha256"]) == 64
    assert (judge["requests"], judge["prompt_tokens"]) == (1, 100)
    assert end.info["judgements"][0]["reasons"][1]["goal"] == "why goal"


def test_the_last_info_is_enough_for_an_episode_log(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Models(talker=[say("Hm.")], judge=[judgement()]).wired(monkeypatch)
    world = Sotopia(home=home, **PARTNER, **JUDGE)
    info = play(world, TALK_TASK, [say("Hello."), act("leave")])[-1].info
    samples = [Judgement.model_validate(one) for one in json.loads(json.dumps(info["judgements"]))]
    log = episode_log_of(info["conversation"], samples, pk="one", models=("judge", "agent", "talker"))
    assert (log["environment"], log["agents"]) == ("talk", ["cy", "ana"])
    assert log["messages"][0][2] == ["Cy Moss", "Environment", 'said: "Hello."']
    assert log["messages"][1][3] == ["Ana Reed", "Environment", 'said: "Hm."']
    assert log["rewards"][0] == [pytest.approx(23 / 7), {**SCORES, "overall_score": pytest.approx(23 / 7)}]
    assert log["reasoning"].startswith("Environment comments: terminated: Too few active agents; \n")


@pytest.mark.parametrize(
    ("mix", "reward"),
    [("goal", 0.8), ("product", 0.8 * 0.8), ("overall", (23 / 7 + 30 / 7) / 10)],
)
def test_rewards_are_mixed_as_asked(
    home: Path, monkeypatch: pytest.MonkeyPatch, mix: str, reward: float
) -> None:
    Models(judge=[judgement()]).wired(monkeypatch)
    world = Sotopia(home=home, reward=mix, **JUDGE)
    (end,) = play(world, LAMP_TASK, [act("leave")])
    assert end.reward == pytest.approx(reward)
    assert end.info["reward_mix"] == mix
    assert end.info["label"] == "rule-based partner; scores of the judge judge"


def test_a_judge_of_some_dimensions_leaves_the_others_undefined(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(judge=[judgement(names=("secret", "goal"))]).wired(monkeypatch)
    (end,) = play(Sotopia(home=home, dimensions="goal, secret", **JUDGE), LAMP_TASK, [act("leave")])
    assert end.info["dimensions"] == dict.fromkeys(NAMES) | {"goal": 8, "secret": 0}
    assert end.info["overall_score"] is None
    assert '"believability"' not in models.bodies[0]["messages"][0]["content"]
    assert end.info["judge"]["dimensions"] == ["secret", "goal"]


def test_a_judge_reads_characters_except_in_the_view_without(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(judge=[judgement()]).wired(monkeypatch)
    for view, count in (("relationship", 2), ("lite", 0)):
        (end,) = play(Sotopia(home=home, view=view, **JUDGE), LAMP_TASK, [act("leave")])
        assert models.bodies[-1]["messages"][0]["content"].count("'s background: ") == count
        assert end.info["conversation"]["judge_background"].count("'s background: ") == count


def test_samples_are_averaged_and_their_spread_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = [judgement(goals=goals) for goals in ((2, 3), (4, 3), (9, 3))]
    Models(judge=list(replies)).wired(monkeypatch)
    world = Sotopia(home=home, judge_samples=3, **JUDGE)
    world.reset_seats(world.task(TALK_TASK), 0)
    end = run(world.step_seats({"first": act("leave")}))
    assert {name: one.reward for name, one in end.items()} == {"first": 0.5, "second": pytest.approx(0.3)}
    assert end["first"].info["spread"]["goal"] == 7
    assert end["second"].info["spread"] == dict.fromkeys(NAMES, 0.0)
    assert [one["scores"][0]["goal"] for one in end["first"].info["judgements"]] == [2, 4, 9]
    assert end["first"].info["judge"]["requests"] == 3


def test_a_judge_at_temperature_0_is_asked_once_about_equal_conversations(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(judge=[judgement()]).wired(monkeypatch)

    def judged(**options: Any) -> int:
        before = len(models.bodies)
        for _ in range(2):
            (end,) = play(Sotopia(home=home, **JUDGE, **options), LAMP_TASK, [act("leave")])
        assert end.info["judge"]["cached"] == (len(models.bodies) - before < 2)
        return len(models.bodies) - before

    assert judged() == 1
    assert judged(judge_temperature=0.5) == 2
    assert judged(judge_cache=False) == 2
    assert judged(judge_temperature=0.6, judge_cache=True) == 1


def test_partners_are_asked_each_time_unless_their_answers_are_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = Models(talker=[say("Hm.")]).wired(monkeypatch)
    for cached, requests in ((False, 2), (True, 1)):
        before = len(models.bodies)
        for _ in range(2):
            play(
                Sotopia(home=home, judge="none", partner_cache=cached, **PARTNER), TALK_TASK, [say("Hello.")]
            )
        assert len(models.bodies) - before == requests


def test_each_endpoint_has_its_own_key_and_limits(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTNER_KEY", "p-key")
    monkeypatch.setenv("JUDGE_KEY", "j-key")
    models = Models(talker=[say("Hm.")], judge=[judgement()]).wired(monkeypatch)
    options = {"partner_key_env": "PARTNER_KEY", "judge_key_env": "JUDGE_KEY", "timeout_s": 5, "retries": 1}
    table = {
        "base_url": URL,
        "model": "judge",
        "max_tokens": 99,
        "prompt_price": 1.0,
        "completion_price": 2.0,
    }
    world = Sotopia(home=home, **PARTNER, judge_model=json.dumps(table), concurrency=8, **options)
    end = play(world, TALK_TASK, [say("Hello."), act("leave")])[-1]
    assert [one.get("authorization") for one in models.headers] == ["Bearer p-key", "Bearer j-key"]
    assert models.asked("judge")[0]["max_tokens"] == 99
    assert end.info["judge"]["cost"] == pytest.approx((100 * 1.0 + 10 * 2.0) / 1e6)
    assert (world.max_waiting, world.waits_s) == (16, 2 * 2 * 5 + 2 * 2 * 5)
    assert "key" not in json.dumps(end.info)
    assert (Sotopia().waits_s, Sotopia().max_waiting, Sotopia().deterministic) == (0, 64, True)


FAILURES: list[Any] = [500, 404, httpx.ConnectError("refused"), "no JSON", say("x")[:-1]]


@pytest.mark.parametrize("failure", FAILURES, ids=["500", "404", "refused", "words", "cut"])
def test_a_partner_that_fails_fails_the_episode_and_the_conversation_is_kept(
    home: Path, monkeypatch: pytest.MonkeyPatch, failure: Any
) -> None:
    Models(talker=[say("Hm."), failure], judge=[judgement()]).wired(monkeypatch)
    world = Sotopia(home=home, **PARTNER, **JUDGE)
    with pytest.raises(PartnerFault) as raised:
        play(world, TALK_TASK, [say("Hello."), say("Well?")])
    file = home / "sotopia" / "unjudged.jsonl"
    assert raised.value.__notes__ == [f"the conversation is kept in {file}"]
    (record,) = map(json.loads, file.read_text().splitlines())
    assert (record["status"], record["failure"]["kind"]) == ("unfinished", "partner")
    said = [both[turn % 2][1] for turn, both in enumerate(record["log"])]
    assert said == ["Hello.", "Hm.", "Well?"]  # the agent's last words, too


@pytest.mark.parametrize(
    "failure",
    [*FAILURES, judgement(goals=(11, 3)), judgement(goals=(None, 3)), judgement(names=("goal",))],
    ids=["500", "404", "refused", "words", "cut", "out of range", "null", "incomplete"],
)
def test_a_judge_that_fails_is_no_score_and_the_conversation_can_be_judged_later(
    home: Path, monkeypatch: pytest.MonkeyPatch, failure: Any
) -> None:
    Models(talker=[say("Hm.")], judge=[failure]).wired(monkeypatch)
    world = Sotopia(home=home, unjudged=str(home / "own.jsonl"), **PARTNER, **JUDGE)
    with pytest.raises(JudgeFault):
        play(world, TALK_TASK, [say("Hello."), act("leave")])
    (record,) = map(json.loads, (home / "own.jsonl").read_text().splitlines())
    assert (record["format"], record["status"]) == (FORMAT, "unjudged")
    assert record["failure"]["kind"] == "judge"
    models = Models(judge=[judgement()]).wired(monkeypatch)
    (end,) = [run(world.step(""))]  # the judge is asked again, and nothing else happens
    assert (end.reward, len(models.bodies)) == (0.8, 1)
    talk = conversation_of(record)
    asked = judge_prompt(record["judge_background"], talk.names, talk.log, SOTOPIA)
    assert models.bodies[0]["messages"][0]["content"] == asked
    assert talk.end_reasons == ("left",)


def test_a_record_that_cannot_be_written_does_not_hide_the_fault(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Models(judge=["no"]).wired(monkeypatch)
    (home / "file").write_text("")
    world = Sotopia(home=home, unjudged=str(home / "file" / "below"), **JUDGE)
    with pytest.raises(JudgeFault) as raised:
        play(world, LAMP_TASK, [act("leave")])
    file = home / "file"
    assert raised.value.__notes__ == [f"the conversation could not be kept: {file / 'below'}: File exists"]


def test_where_the_home_cannot_be_written_the_record_is_among_temporary_files(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Models(judge=["no"]).wired(monkeypatch)
    (home / "sotopia" / "unjudged.jsonl").mkdir()
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    with pytest.raises(JudgeFault):
        play(Sotopia(home=home, **JUDGE), LAMP_TASK, [act("leave")])
    (record,) = map(json.loads, (tmp_path / "sotopia-unjudged.jsonl").read_text().splitlines())
    assert record["status"] == "unjudged"


def test_seats_fail_together_when_their_judge_does(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Models(judge=["no"]).wired(monkeypatch)
    world = Sotopia(home=home, **JUDGE)
    world.reset_seats(world.task(TALK_TASK), 0)
    run(world.step_seats({"first": say("Hello.")}))
    with pytest.raises(DependencyFault) as raised:
        run(world.step_seats({"second": act("leave")}))
    assert raised.value.kind == "judge"


def test_who_is_late_fails_by_its_own_kind(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def never() -> str:
        await asyncio.Event().wait()
        return ""

    Models(talker=[never], judge=[never]).wired(monkeypatch)
    quick = {"timeout_s": 0.01, "retries": 0}
    with pytest.raises(PartnerFault, match=r"no (answer|action) within 0\.0"):
        play(Sotopia(home=home, judge="none", **PARTNER, **quick), TALK_TASK, [say("Hello.")])
    with pytest.raises(JudgeFault, match=r"no (answer|judgement) within 0\.0"):
        play(Sotopia(home=home, **JUDGE, **quick), LAMP_TASK, [act("leave")])


def test_who_waits_too_long_before_its_first_request_fails_too(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered = asyncio.Event()

    async def never() -> str:
        entered.set()
        await asyncio.Event().wait()
        return ""

    async def main() -> None:
        options = {"timeout_s": 0.05, "retries": 0, "concurrency": 1}
        first = Sotopia(home=home, judge="none", **PARTNER, **(options | {"timeout_s": 60}))
        await settled(first.reset(first.task(TALK_TASK), 0))
        holding = asyncio.ensure_future(settled(first.step(say("Hello."))))
        await entered.wait()
        second = Sotopia(home=home, judge="none", **PARTNER, **options)
        with pytest.raises(PartnerFault, match=r"no action within 0\.1 s"):
            await played(second, TALK_TASK, [say("Hello.")])
        holding.cancel()

    Models(talker=[never]).wired(monkeypatch)
    asyncio.run(main())


def test_a_slow_partner_holds_no_other_episode(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        go, asked = asyncio.Event(), asyncio.Event()

        async def slow() -> str:
            asked.set()
            await go.wait()
            return say("At last.")

        Models(talker=[slow, say("Quick.")]).wired(monkeypatch)
        first, second = (Sotopia(home=home, judge="none", **PARTNER) for _ in range(2))
        held = asyncio.ensure_future(played(first, TALK_TASK, [say("Hello.")]))
        await asked.wait()
        quick = await played(second, TALK_TASK, [say("Hello.")] * 3)
        assert quick[-1].observation.text.endswith('said: "Quick."')
        assert not held.done()
        go.set()
        assert (await held)[-1].observation.text.endswith('said: "At last."')

    asyncio.run(main())


def test_a_snapshot_has_what_the_model_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = Models(talker=[say(f"Number {number}.") for number in range(9)]).wired(monkeypatch)

    async def main() -> None:
        world, other = (Sotopia(home=home, judge="none", **PARTNER) for _ in range(2))
        await played(world, TALK_TASK, [say("a"), say("b")])
        other.restore(world.snapshot())
        assert len(models.bodies) == 2  # nobody is asked again
        assert (await settled(other.step(say("c")))).observation.text.endswith('"Number 2."')
        assert 'said: "Number 1."' in models.bodies[-1]["messages"][0]["content"]
        end = await settled(other.step(act("leave")))
        assert end.info["partner"]["requests"] == 3
        assert (await settled(world.step(act("leave")))).info["partner"]["requests"] == 2

    asyncio.run(main())


def test_with_models_the_contract_is_kept(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Models(talker=[say("Hm.")], judge=[judgement(goals=(0, 0))]).wired(monkeypatch)
    report = check_environment(
        lambda: Sotopia(home=home, families="price", **PARTNER, **JUDGE), tasks_per_split=1, rows_per_split=4
    )
    assert report.passed, "\n".join(report.lines())
    assert next(one.cases for one in report.results if one.name == "fork") > 0
