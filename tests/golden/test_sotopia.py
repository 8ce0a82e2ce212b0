"""60 episodes of the real package `sotopia` 0.1.5: views, masks, prompts, judgements and records."""

import json
import lzma
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.conversation import Conversation, Rules, masks
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, judgement_format
from agentgym_envs.sotopia.protocol.episode_log import episode_log
from agentgym_envs.sotopia.protocol.judgement import JudgementError, read_judgement
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene
from agentgym_envs.sotopia.protocol.prompts import ACTION_FORMAT, agent_prompt, judge_prompt
from agentgym_envs.sotopia.protocol.views import View, background, judge_background

pytestmark = pytest.mark.golden

Episode = dict[str, Any]


@pytest.fixture(scope="module")
def golden(shared: Path) -> Path:
    """The folder of Sotopia's golden files."""
    return shared / "golden" / "sotopia"


@pytest.fixture(scope="module")
def episodes(golden: Path) -> list[Episode]:
    """The recorded episodes."""
    with lzma.open(golden / "episodes_public.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def profiles(shared_data: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The published environments and agents by key."""
    folder = shared_data / "sotopia"
    return json.loads((folder / "environments.json").read_text()), json.loads(
        (folder / "agents.json").read_text()
    )


def scene_of(episode: Episode, profiles: tuple[dict[str, Any], dict[str, Any]]) -> Scene:
    environments, agents = profiles
    first, second = (AgentProfile.model_validate(agents[pk]) for pk in episode["agent_ids"])
    environment = EnvironmentProfile.model_validate(environments[episode["env_id"]])
    return Scene(environment=environment, agents=(first, second))


def schedule_of(episode: Episode) -> Iterator[tuple[bool, bool]]:
    """The acting seats of each step: those recorded where they were drawn, otherwise those of the order."""
    if episode["action_order"] != "random":
        return masks(episode["action_order"], 0)
    return iter([tuple(episode["reset_acting"]), *(tuple(step["may_act_next"]) for step in episode["steps"])])


def view_of(episode: Episode) -> View:
    return "omniscient" if episode["omniscient"] else "package"


def start(episode: Episode, scene: Scene) -> Conversation:
    backgrounds = background(scene, 0, view_of(episode)), background(scene, 1, view_of(episode))
    rules = Rules(episode["action_order"], episode["max_turn_number"], episode["max_stale_turn"])
    return Conversation(scene.names, backgrounds, rules, schedule_of(episode))


def play(conversation: Conversation, episode: Episode) -> Iterator[tuple[int, int, str]]:
    """Play the recorded scripts, comparing each step; yields seat, turn and text of each prompt."""
    scripts = [iter(script) for script in episode["script"]]
    for step in episode["steps"]:
        assert conversation.acting == tuple(step["acting"])
        actions: dict[int, Action] = {}
        for seat in (0, 1):
            if conversation.acting[seat]:
                yield seat, conversation.turn_number, agent_prompt(conversation, seat)
                kind, argument = next(scripts[seat], ("leave", ""))
                actions[seat] = Action(action_type=kind, argument=argument)
        conversation.apply(actions)
        assert [[one.action_type, one.argument] for one in conversation.log[-1]] == step["actions"]
        assert [conversation.last_turn(seat) for seat in (0, 1)] == step["obs"]
        assert conversation.ended == step["terminated"]


def test_every_episode_is_the_packages(
    episodes: list[Episode], profiles: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    assert len(episodes) >= 60
    for episode in episodes:
        conversation = start(episode, scene_of(episode, profiles))
        assert [conversation.last_turn(seat) for seat in (0, 1)] == episode["reset_obs"]
        prompts = list(play(conversation, episode))
        assert [
            {
                "agent": seat,
                "turn_number": turn,
                "sha256": sha256(text.encode()).hexdigest(),
                "chars": len(text),
            }
            for seat, turn, text in prompts
        ] == episode["prompts"]
        assert {str(seat): text for seat, _, text in prompts} == episode["last_prompt"]
        assert conversation.turn_number == episode["n_steps"]
        assert f"Environment comments: terminated: {conversation.comments}" == episode["reasons"]


def test_every_judgement_and_record_is_the_packages(
    episodes: list[Episode], profiles: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    for episode in episodes:
        scene = scene_of(episode, profiles)
        conversation = start(episode, scene)
        assert len(list(play(conversation, episode))) == len(episode["prompts"])
        told = judge_background(scene, view_of(episode))
        assert judge_prompt(told, scene.names, conversation.log, SOTOPIA) == episode["judge_prompt"]
        judgement = read_judgement(episode["judge_reply"], scene.names, SOTOPIA)
        assert dict(zip(scene.names, judgement.overall, strict=True)) == episode["rewards"]
        record = episode["episode_log"]
        assert record == episode_log(
            conversation,
            judgement,
            pk=episode["id"],
            environment=episode["env_id"],
            agents=tuple(episode["agent_ids"]),
            models=tuple(record["models"]),
            tag=record["tag"],
        )


def test_the_schemas_of_prompts_are_the_packages(golden: Path) -> None:
    expected = json.loads((golden / "format_instructions.json").read_text())
    assert expected["action_format_instructions"] == ACTION_FORMAT
    assert expected["judge_format_instructions"] == judgement_format(SOTOPIA)


def test_replies_of_judges(golden: Path) -> None:
    cases = json.loads((golden / "judge_replies.json").read_text())
    assert len(cases) >= 22
    for case in cases:
        try:
            judgement = read_judgement(case["reply"], ("Ava Stone", "Ben Hill"), SOTOPIA)
        except JudgementError:
            assert case["ours"] == "failed(judge)", case["name"]
        else:
            assert case["ours"].startswith("ok"), case["name"]
            assert judgement.scores[0]["goal"] == 0, case["name"]
            assert judgement.scores[1]["goal"] == 10, case["name"]


def test_markup_in_an_utterance_stays(golden: Path) -> None:
    cases = [json.loads(line) for line in (golden / "renderer_cases.jsonl").read_text().splitlines()]
    assert len(cases) >= 20
    for case in cases:
        conversation = Conversation((case["speaker"], "Ben Hill"), ("", ""))
        conversation.apply({0: Action(action_type="speak", argument=case["utterance"])})
        assert conversation.last_turn(1) == case["ours"]
