"""Recorded episodes: both forms are read, broken ones are named, and a replay gives the record again."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.sotopia_profiles import LAMP, scene_of, talk, write_json, write_lines

from agentgym_envs.sotopia.data.episodes import RecordedEpisode, action_of, read_episodes
from agentgym_envs.sotopia.data.profile_set import SotopiaDataError
from agentgym_envs.sotopia.data.replay import replay
from agentgym_envs.sotopia.protocol.actions import ACTION_TYPES, Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, TurnError
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import Judgement
from agentgym_envs.sotopia.protocol.views import background

SCORES = {one.name: one.high for one in SOTOPIA}
REASONS = {one.name: "because" for one in SOTOPIA}


def record(judged: bool = True) -> dict[str, Any]:
    """The record of a short conversation that seat 0 leaves."""
    scene = scene_of(LAMP)
    views = background(scene, 0, "relationship"), background(scene, 1, "relationship")
    conversation = Conversation(scene.names, views)
    for seat, both in enumerate(talk("It is $24.", 'I say: "deal"')):
        conversation.apply({seat: both[seat]})
    conversation.apply({0: Action(action_type="leave")})
    return episode_log(
        conversation,
        Judgement(scores=(SCORES, SCORES), reasons=(REASONS, REASONS)) if judged else None,
        pk="e1",
        environment="lamp",
        agents=("ana", "bo"),
        models=("judge", "one", "two"),
        tag="test",
    )


def raw(record: dict[str, Any]) -> dict[str, Any]:
    """The same in the form of sotopia-rl."""
    return {
        "episode_id": record["pk"],
        "environment_id": record["environment"],
        "agent_ids": record["agents"],
        "experiment_tag": record["tag"],
        "experiment_model_name_pairs": record["models"],
        "raw_messages": record["messages"],
        "raw_rewards": record["rewards"],
        "rewards": [record["rewards"][0][1], record["rewards"][1][1]],
        "reasoning": record["reasoning"],
        "social_interactions": "derived",
        "scores": {"Ana Reed": 10.0, "Bo Lind": 10.0},
        "combo_index": 7,
    }


def read(path: Path, content: object) -> list[RecordedEpisode]:
    write_json(path, content)
    return read_episodes(path)


def test_both_forms_are_the_same_episode(tmp_path: Path) -> None:
    log = record()
    (first,) = read(tmp_path / "one.json", log)
    (second,) = read(tmp_path / "two.json", [raw(log)])
    assert (first.combo, second.combo) == (None, 7)
    assert first == second.model_copy(update={"combo": None})
    assert (first.names, first.models) == (("Ana Reed", "Bo Lind"), ("judge", "one", "two"))
    assert first.log[:2] == talk("It is $24.", 'I say: "deal"')
    assert first.end_reasons == ("left",)
    assert first.scores is not None
    assert first.scores[1].by_dimension == SCORES
    assert first.scores[0].overall == pytest.approx(40 / 7)  # 10 + 5 + 10 + 0 + 0 + 5 + 10


def test_lines_and_a_single_record_are_read(tmp_path: Path) -> None:
    write_lines(tmp_path / "many.jsonl", [record(), raw(record())])
    assert [one.pk for one in read_episodes(tmp_path / "many.jsonl")] == ["e1", "e1"]
    assert len(read(tmp_path / "one.json", raw(record()))) == 1


def test_an_episode_that_nobody_judged_has_no_scores(tmp_path: Path) -> None:
    log = record(judged=False)
    assert log["rewards"] is None
    assert read(tmp_path / "one.json", log)[0].scores is None
    # The package records 0.0 where its judge did not reply.
    assert read(tmp_path / "one.json", {**log, "rewards": [0.0, 0.0]})[0].scores is None


def changed(**fields: Any) -> dict[str, Any]:
    return {**record(), **fields}


def with_message(turn: int, entry: int, message: list[str]) -> dict[str, Any]:
    log = record()
    log["messages"][turn][entry] = message
    return log


@pytest.mark.parametrize(
    ("log", "message"),
    [
        (changed(agents=["ana"]), "agents.1: Field required"),
        (changed(models=["judge", "one"]), "models.2: Field required"),
        (changed(rewards="good"), "rewards are no list of two"),
        (changed(rewards=[[1.0, {}], [1.0, {}]]), "rewards have no believability"),
        (changed(rewards=[[1.0, {**SCORES, "goal": 11}]] * 2), "the score 11 of goal is out of range"),
        (changed(rewards=[[1.0, {**SCORES, "goal": "x"}]] * 2), "by_dimension.goal: Input should be a valid"),
        (changed(rewards=[1.0, [1.0, SCORES]]), "a reward is no pair"),
        (changed(messages=[]), "messages have no first observations"),
        (changed(messages=record()["messages"][:1]), "turn 0 of messages is not two observations"),
        (with_message(1, 2, ["Bo Lind", "Environment", "did nothing"]), "turn 1 of messages is not"),
        (with_message(0, 2, ["Ana Reed", "Environment", "sings"]), "'sings' is no action"),
        (changed(environment=None), "environment: Input should be a valid string"),
    ],
)
def test_a_broken_episode_is_named(log: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SotopiaDataError, match=rf"^one.json: record 1 \(e1\): {message}") as error:
        read(tmp_path / "one.json", [log])
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ACTION_TYPES)
@pytest.mark.parametrize(
    "argument", ["", "said", 'a "b"\n[action] c', "did nothing", "left the conversation"]
)
def test_an_action_is_read_from_its_own_text(kind: Any, argument: str) -> None:
    action = Action(action_type=kind, argument="" if kind in ("none", "leave") else argument)
    assert action_of(action.text) == action


@pytest.mark.parametrize("text", ["", 'said: "', "said: hello", "[dance] x", "Did nothing"])
def test_a_text_that_is_no_action_is_an_error(text: str) -> None:
    with pytest.raises(SotopiaDataError, match="is no action"):
        action_of(text)


def test_a_replay_gives_the_record_again(tmp_path: Path) -> None:
    (episode,) = read(tmp_path / "one.json", record())
    done = replay(episode, scene_of(LAMP))
    assert (done.messages, done.differences) == (14, ())
    assert done.conversation.end_reasons == ("left",)
    later = [one.turn for one in replay(episode, scene_of({**LAMP, "scenario": "x"})).differences]
    assert later == [0, 0]


def test_a_replay_notices_other_words(tmp_path: Path) -> None:
    log = json.loads(
        json.dumps(record()).replace("Turn #1", "Turn #9").replace(": Unknown\\nAna", ": \\nAna")
    )
    (episode,) = read(tmp_path / "one.json", log)
    found = [(one.turn, one.entry, one.cause) for one in replay(episode, scene_of(LAMP)).differences]
    assert found == [(0, 0, "no_unknown"), (2, 0, "other"), (2, 1, "other")]
    older = json.loads(json.dumps(record()).replace("41-year-old female", "41-year-old Woman"))
    (episode,) = read(tmp_path / "one.json", older)
    assert [one.cause for one in replay(episode, scene_of(LAMP)).differences] == ["gender"]


def test_an_action_out_of_turn_is_a_difference_and_one_after_the_end_an_error(tmp_path: Path) -> None:
    (episode,) = read(tmp_path / "one.json", with_message(0, 3, ["Bo Lind", "Environment", 'said: "hi"']))
    assert [(one.turn, one.entry) for one in replay(episode, scene_of(LAMP)).differences] == [(0, 3)]
    with pytest.raises(TurnError, match="over"):
        replay(episode, scene_of(LAMP), rules=Rules(max_turns=1))
