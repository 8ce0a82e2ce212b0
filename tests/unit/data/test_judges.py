"""Judges of episodes: what they are asked, what counts as a score, and what is kept of it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.judges import Brief, Broken, Picky, Silent

from agentevol.config.rewards.reward import JudgeReward
from agentevol.config.run import load
from agentevol.core.errors import ConfigError, RunStopped
from agentevol.core.judges import JudgedEpisode, JudgedTurn, Verdict
from agentevol.data.judges.answers import transcript
from agentevol.data.judges.judging import Judged, as_text, fault_of, judge_of, judged, normalised
from agentevol.data.judges.records import (
    JudgeIdentity,
    JudgementsFile,
    judgements_file,
    read_judgements,
    write_judgements,
)
from agentevol.data.judges.rubric import Rubric, verdict_of
from agentevol.data.rewards.testing import example_episodes
from agentgym_envs import thinking

HERE = __name__
EPISODE = JudgedEpisode("house", "t1", "Find the lamp.", "A hall.", (JudgedTurn("look", "A lamp."),))


class Nothing:
    """No judge."""


class Wide(Brief):
    """A judge whose scale is reversed."""

    scale = (10.0, 0.0)


class Nameless(Brief):
    """A judge without a version."""

    def __init__(self) -> None:
        super().__init__(version="")


class Crowded(Brief):
    """Remembers how many episodes were judged at a time."""

    now = most = 0

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        Crowded.now += 1
        Crowded.most = max(Crowded.most, Crowded.now)
        await asyncio.sleep(0)
        Crowded.now -= 1
        return await super().judge(episode)


class Deserter(Brief):
    """Cancels the task in which it is asked."""

    async def judge(self, episode: JudgedEpisode) -> Verdict:
        raise asyncio.CancelledError(episode.env)


NUMBER = 3


@pytest.mark.parametrize(
    ("name", "options", "complaint"),
    [
        ("strict", {}, "no judge named 'strict'; there are: rubric, service, or module:attribute"),
        (f"{HERE}:NUMBER", {}, "is int, not a factory of judges"),
        (f"{HERE}:Nothing", {}, "has no 'version': see agentevol.core.judges.Judge"),
        (f"{HERE}:Wide", {}, r"has the scale \(10.0, 0.0\), not a lowest and a highest score"),
        (f"{HERE}:Nameless", {}, "has the version '', not a text"),
        ("rubric", {}, "needs the option 'model': reward.options.model"),
        (
            "rubric",
            {"modle": "m"},
            "has no option 'modle'; there are: api_key_env, dimensions, max_new_tokens",
        ),
        ("rubric", {"model": 3}, "option 'model' of rubric cannot be 3"),
        ("rubric", {"model": "m", "dimensions": "a, a"}, "different names"),
        ("rubric", {"model": "m", "url": "ftp://h"}, "the judge's endpoint: "),
        ("rubric", {"model": "m", "api_key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY is not set"),
    ],
)
def test_what_is_no_judge_is_refused(name: str, options: dict[str, Any], complaint: str):
    with pytest.raises(ConfigError, match=complaint):
        judge_of(name, options)


def test_options_reach_the_judge():
    judge: Any = judge_of("support.judges:Brief", {"offset": -2.0})
    assert asyncio.run(judge.judge(EPISODE)) == Verdict(7.0, "1 turns", {"turns": 1.0})


def test_an_episode_is_given_as_text_without_rewards_or_tokens():
    episode = example_episodes()[0]
    seen = as_text(episode)
    assert (seen.env, seen.task_id, seen.instruction) == ("example", "task-0", "Find the lamp.")
    assert seen.turns[0].action == (episode.turns[0].sample.text if episode.turns[0].sample else "")
    assert [turn.observation for turn in seen.turns] == [turn.observation for turn in episode.turns]
    assert "reward" not in repr(seen)


def test_of_a_reply_in_a_thinking_mode_the_judge_reads_the_answer_alone():
    episode = example_episodes()[0]
    first = episode.turns[0]
    assert first.sample is not None
    said = first.sample.model_copy(update={"text": thinking.render(2, ("a", "b", "10 of 10"), "look")})

    def seen(info: dict[str, object]) -> str:
        turn = first.model_copy(update={"action": "look", "sample": said, "info": info})
        return as_text(episode.model_copy(update={"turns": (turn,)})).turns[0].action

    assert (seen({"mode": 2}), seen({"mode": -1, "fault": "no_level"})) == ("look", "look")
    assert seen({}) == said.text


async def test_every_episode_has_a_verdict_or_the_reason_why_not():
    episodes, before = example_episodes(), Picky.closed
    found = await judged(Picky(), episodes, concurrency=3, timeout_s=60)
    assert found.verdicts.keys() | found.failures.keys() == {one.id for one in episodes}
    for one in episodes:
        match len(one.turns) % 4:
            case 1:
                assert found.failures[one.id] == "RuntimeError: no idea"
            case 2:
                assert found.failures[one.id] == "it is in another language"
            case 3:
                assert found.failures[one.id] == "gave the score 11.0, not a number from 0 to 10"
            case _:
                assert found.verdicts[one.id].score == 10.0 - len(one.turns)
    assert {len(one.turns) % 4 for one in episodes} == {0, 1, 2, 3}
    assert Picky.closed == before + 1


async def test_no_more_episodes_are_judged_at_a_time_than_allowed():
    for most in (1, 5):
        Crowded.most = 0
        await judged(Crowded(), example_episodes(), concurrency=most, timeout_s=60)
        assert Crowded.most == most


async def test_a_judge_that_does_not_answer_has_failed_after_its_time():
    episodes = example_episodes(0, 2)
    found = await judged(Silent(), episodes, concurrency=2, timeout_s=0.01)
    assert found == Judged({}, {one.id: "no verdict within 0.01 s" for one in episodes})


async def test_a_judge_that_gives_up_its_task_has_failed():
    (episode,) = example_episodes(0, 1)
    assert await judged(Deserter(), [episode], concurrency=1, timeout_s=9) == Judged(
        {}, {episode.id: "gave no verdict"}
    )


@pytest.mark.parametrize(
    ("verdict", "fault"),
    [
        (Verdict(0.0), None),
        (Verdict(10), None),
        (Verdict(10.001), "gave the score 10.001, not a number from 0 to 10"),
        (Verdict(float("nan")), "gave the score nan, not a number from 0 to 10"),
        (Verdict(True), "gave the score True, not a number from 0 to 10"),
        (Verdict(None), "gave neither a score nor a reason"),
        (Verdict(None, "too long"), "too long"),
        (Verdict(1.0, "", {"goal": -99.0}), None),
        (Verdict(1.0, "", {"goal": float("inf")}), "gave inf for goal, not a finite number"),
        (0.5, "gave float, not a Verdict"),
    ],
)
def test_a_score_is_a_number_on_the_scale(verdict: Any, fault: str | None):
    assert fault_of(verdict, (0.0, 10.0)) == fault


def test_scores_are_brought_to_zero_to_one():
    found = normalised(Brief(), {"a": Verdict(0.0), "b": Verdict(7.5), "c": Verdict(10.0)})
    assert found == {"a": 0.0, "b": 0.75, "c": 1.0}


def test_verdicts_are_kept_whole_with_the_judge_that_gave_them(tmp_path: Path):
    judge = JudgeIdentity(name="mine", version="1", options={"offset": 2.0})
    found = Judged({"a": Verdict(3.0, "\ud800 why", {"goal": 1.5})}, {"b": "RuntimeError: no idea"})
    assert read_judgements(tmp_path, "0001", judge) is None
    write_judgements(tmp_path, "0001", JudgementsFile.of(judge, (0.0, 10.0), found))
    told = json.loads(judgements_file(tmp_path, "0001").read_text())
    assert told["judge"] == {"name": "mine", "version": "1", "options": {"offset": 2.0}}
    assert told["failed"] == {"b": "RuntimeError: no idea"}
    known = read_judgements(tmp_path, "0001", judge)
    assert known is not None
    assert known.judged() == Judged(
        {"a": Verdict(3.0, "? why", {"goal": 1.5})}, {"b": "RuntimeError: no idea"}
    )
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["0001.json"]


@pytest.mark.parametrize(
    "other", [{"version": "2"}, {"name": "other"}, {"options": {"offset": 1.0}}, {"options": {}}]
)
def test_another_judge_is_refused_for_every_iteration_of_the_run(tmp_path: Path, other: dict[str, Any]):
    judge = JudgeIdentity(name="mine", version="1", options={"offset": 2.0})
    write_judgements(tmp_path, "0001", JudgementsFile.of(judge, (0.0, 10.0), Judged()))
    with pytest.raises(RunStopped, match=r"0001.json is of the judge mine \(version 1, offset=2.0\), not "):
        read_judgements(tmp_path, "0002", judge.model_copy(update=other))


def test_a_damaged_file_is_named(tmp_path: Path):
    judge = JudgeIdentity(name="mine", version="1")
    write_judgements(tmp_path, "0001", JudgementsFile.of(judge, (0.0, 10.0), Judged()))
    judgements_file(tmp_path, "0001").write_text("{}")
    with pytest.raises(RunStopped, match=r"0001.json cannot be read"):
        read_judgements(tmp_path, "0001", judge)


def test_a_judge_is_a_source_of_rewards_with_settings_of_its_own():
    given = ["algorithm=grpo", "reward.judge=rubric", "reward.options.model=m", "reward.concurrency=2"]
    assert load(None, given).reward == JudgeReward(judge="rubric", options={"model": "m"}, concurrency=2)
    for setting, complaint in (
        ("reward.caution.kappa=2", "it belongs to: model, model with reward.refresh"),
        ("reward.timeout_s=0", "reward.timeout_s: "),
        ("reward.function=success", "reward.judge is no setting of reward 'function'; it belongs to: judge"),
        ("explore.resample=1", "leave it at 0"),
    ):
        with pytest.raises(ConfigError, match=complaint):
            load(None, [*given, setting])


def reply(content: str) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}


async def test_a_rubric_asks_a_model_once_and_takes_the_mean_of_its_dimensions():
    asked: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(json.loads(request.content))
        said = '```json\n{"reason": "slow", "scores": {"goal": 8, "speed": 3}}\n```'
        return httpx.Response(200, json=reply(said))

    judge = Rubric(httpx.MockTransport(answer), model="m", dimensions="goal, speed", url="http://h/v1")
    assert await judge.judge(EPISODE) == Verdict(5.5, "slow", {"goal": 8.0, "speed": 3.0})
    await judge.close()
    (body,) = asked
    assert (body["model"], body["temperature"]) == ("m", 0.0)
    assert "goal, speed" in body["messages"][0]["content"]
    assert body["messages"][1]["content"] == transcript(EPISODE)
    assert '"agent": "look"' in transcript(EPISODE)


async def test_a_transcript_that_is_too_long_has_no_score_and_a_broken_endpoint_is_a_failure():
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(400, json={"error": {"message": "maximum context length is 10 tokens"}})

    judge = Rubric(httpx.MockTransport(answer), model="m", url="http://h/v1")
    assert await judge.judge(EPISODE) == Verdict(None, "the transcript is longer than the model's context")
    await judge.close()
    refusing = Rubric(
        httpx.MockTransport(lambda _: httpx.Response(401, json={})), model="m", url="http://h/v1"
    )
    (episode,) = example_episodes(0, 1)
    found = await judged(refusing, [episode], concurrency=1, timeout_s=9)
    assert found.verdicts == {}
    assert "it refuses the key" in found.failures[episode.id]


def test_the_version_of_a_rubric_is_all_that_its_scores_depend_on():
    def version(**options: Any) -> str:
        return Rubric(**{"model": "m", "url": "http://h/v1", **options}).version

    versions = [version(), version(model="n"), version(dimensions="goal"), version(url="http://i/v1")]
    assert version() == versions[0]
    assert len(set(versions)) == 4


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("I score this 10", "the answer is no JSON object"),
        ('{"scores": {"goal": 8}', "the answer is no JSON object"),
        ("[8, 3]", "the answer has other scores than goal, speed"),
        ('{"scores": {"goal": 8}}', "the answer has other scores than goal, speed"),
        ('{"scores": {"goal": 8, "speed": 3, "fun": 3}}', "the answer has other scores than goal, speed"),
        ('{"scores": {"goal": 11, "speed": 3}}', "the score of goal is 11, not from 1 to 10"),
        ('{"scores": {"goal": 8, "speed": 2.5}}', "the score of speed is 2.5, not a whole number"),
        ('{"scores": {"goal": true, "speed": 3}}', "the score of goal is True, not a whole number"),
        ('{"scores": {"goal": "8", "speed": 3}}', "the score of goal is '8', not a whole number"),
        ('{"scores": {"goal": NaN, "speed": 3}}', "the score of goal is nan, not a whole number"),
        ('{"scores": {"goal": 1e999, "speed": 3}}', "the score of goal is inf, not a whole number"),
    ],
)
def test_an_answer_that_was_not_asked_for_is_no_score(answer: str, reason: str):
    found = verdict_of(answer, ["goal", "speed"])
    assert found.score is None
    assert found.reason.startswith(reason)
    assert verdict_of('Here: {"scores": {"goal": 1, "speed": 2.0}} Bye', ["goal", "speed"]).score == 1.5


async def test_a_broken_judge_says_why():
    (episode,) = example_episodes(0, 1)
    found = await judged(Broken(), [episode], concurrency=1, timeout_s=9)
    assert found.failures == {episode.id: "ConnectionError: nobody answers about example"}
