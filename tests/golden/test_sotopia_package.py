"""The package `sotopia` 0.1.5 itself beside our protocol, on the published scenarios and characters."""

import json
import lzma
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.sotopia import package_engine, request, say

from agentgym_envs.sotopia.package.client import JudgeFailed, PackageEngine
from agentgym_envs.sotopia.package.records import played, record
from agentgym_envs.sotopia.package.request import EpisodeRequest, PackageView
from agentgym_envs.sotopia.protocol.actions import Action
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.judgement import JudgementError, read_judgement
from agentgym_envs.sotopia.protocol.profiles import AgentProfile, EnvironmentProfile, Scene
from agentgym_envs.sotopia.protocol.views import background, judge_background

pytestmark = pytest.mark.golden

Json = dict[str, Any]
OF_COMBINATIONS = {"combo_index", "combo_pk", "hard", "policies"}
"""Fields of the golden files that no episode has: places in a list, and names of scripts."""
REPAIRED = {"one_agent", "three_agents", "names_as_keys"}
"""Replies that the package accepts by position, and its engine here refuses, as it reads them by key."""
EPISODES = 600


@pytest.fixture(scope="module")
def engine() -> Generator[PackageEngine]:
    with package_engine() as engine:
        yield engine


@pytest.fixture(scope="module")
def profiles(shared_data: Path) -> tuple[dict[str, EnvironmentProfile], dict[str, AgentProfile]]:
    """The published scenarios and characters by key."""
    folder = shared_data / "sotopia"
    environments, agents = (
        json.loads((folder / f"{one}.json").read_text()) for one in ("environments", "agents")
    )
    return (
        {pk: EnvironmentProfile.model_validate(fields) for pk, fields in environments.items()},
        {pk: AgentProfile.model_validate(fields) for pk, fields in agents.items()},
    )


def scene_of(found: Json, profiles: tuple[dict[str, EnvironmentProfile], dict[str, AgentProfile]]) -> Scene:
    first, second = found["agent_ids"]
    return Scene(environment=profiles[0][found["env_id"]], agents=(profiles[1][first], profiles[1][second]))


@pytest.fixture(scope="module")
def scenes(
    shared_data: Path, profiles: tuple[dict[str, EnvironmentProfile], dict[str, AgentProfile]]
) -> list[Scene]:
    """The scene of each published combination."""
    combos = json.loads((shared_data / "sotopia" / "combos.json").read_text())
    return [scene_of(combo, profiles) for combo in combos]


@pytest.fixture(scope="module")
def recorded(
    shared: Path, profiles: tuple[dict[str, EnvironmentProfile], dict[str, AgentProfile]]
) -> list[tuple[EpisodeRequest, Json]]:
    """Each golden episode, and the request that plays it."""
    with lzma.open(shared / "golden" / "sotopia" / "episodes_public.jsonl.xz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [(request_of(episode, scene_of(episode, profiles)), episode) for episode in found]


def request_of(episode: Json, scene: Scene) -> EpisodeRequest:
    first, second = (
        tuple(Action(action_type=kind, argument=argument) for kind, argument in script)
        for script in episode["script"]
    )
    return EpisodeRequest(
        scene=scene,
        script=(first, second),
        judge_replies=(episode["judge_reply"],),
        order=episode["action_order"],
        max_turns=episode["max_turn_number"],
        max_stale=episode["max_stale_turn"],
        seed=episode["seed"],
        view="omniscient" if episode["omniscient"] else "package",
        id=episode["id"],
        tag=episode["episode_log"]["tag"],
    )


def test_our_record_of_a_golden_episode_is_that_of_the_file(
    recorded: list[tuple[EpisodeRequest, Json]],
) -> None:
    assert len(recorded) >= 60
    for wanted, expected in recorded:
        assert record(wanted) == {name: expected[name] for name in expected.keys() - OF_COMBINATIONS}


def test_the_package_plays_the_golden_episodes_again(
    engine: PackageEngine, recorded: list[tuple[EpisodeRequest, Json]]
) -> None:
    for wanted, expected in recorded:
        found = engine.episode(wanted).record
        assert found == {name: expected[name] for name in expected.keys() - OF_COMBINATIONS}


@pytest.mark.parametrize("view", ["package", "omniscient", "lite"])
def test_every_combination_begins_as_in_the_package(
    engine: PackageEngine, scenes: list[Scene], view: PackageView
) -> None:
    assert len(scenes) == 450
    for scene in scenes:
        found = engine.first_texts(scene, view)
        assert found.reset_obs == (background(scene, 0, view), background(scene, 1, view))
        assert found.judge == judge_background(scene, view)


def test_random_scripts_give_the_records_of_the_package(engine: PackageEngine, scenes: list[Scene]) -> None:
    rng, seen = Random(20), Counter[str]()
    for number in range(EPISODES):
        wanted = request(rng, scenes, number)
        found, ours = engine.episode(wanted).record, record(wanted)
        assert found == ours, wanted.id
        conversation, _ = played(wanted)
        seen.update((wanted.order, wanted.view, *conversation.end_reasons))
        seen.update(action.action_type for both in conversation.log for action in both)
    assert set(seen) >= {"round-robin", "simultaneous", "random", "package", "omniscient", "lite"}
    assert set(seen) >= {"too_long", "left", "stale"}
    assert set(seen) >= {"none", "speak", "non-verbal communication", "action", "leave"}
    assert min(seen.values()) >= 50


def test_a_changed_word_is_noticed(engine: PackageEngine, scenes: list[Scene]) -> None:
    wanted = request(Random(20), scenes, 0).model_copy(update={"script": (say("one"), say("two"))})
    changed = wanted.model_copy(update={"script": (say("One"), say("two"))})
    found, ours = engine.episode(changed).record, record(wanted)
    different = {name for name in ours if found[name] != ours[name]}
    assert different >= {"script", "steps", "prompts", "judge_prompt", "judge_prompt_sha256", "episode_log"}


def test_replies_of_judges_are_accepted_as_by_the_package_or_better(
    engine: PackageEngine, shared: Path, scenes: list[Scene]
) -> None:
    cases = json.loads((shared / "golden" / "sotopia" / "judge_replies.json").read_text())
    assert len(cases) >= 22
    for case in cases:
        wanted = EpisodeRequest(scene=scenes[0], judge_replies=(case["reply"],))
        accepted = case["package_0_1_5"].startswith("accepted") and case["name"] not in REPAIRED
        if accepted:
            rewards = engine.episode(wanted).record["rewards"]
            if case["ours"].startswith("ok"):
                assert rewards == record(wanted)["rewards"], case["name"]
        else:
            with pytest.raises(JudgeFailed):
                engine.episode(wanted)
        if case["ours"].startswith("failed"):
            with pytest.raises(JudgementError):
                read_judgement(case["reply"], wanted.scene.names, SOTOPIA)


def test_markup_in_an_utterance_is_lost_in_the_package_and_kept_here(
    engine: PackageEngine,
    shared: Path,
    profiles: tuple[dict[str, EnvironmentProfile], dict[str, AgentProfile]],
    scenes: list[Scene],
    recorded: list[tuple[EpisodeRequest, Json]],
) -> None:
    lines = (shared / "golden" / "sotopia" / "renderer_cases.jsonl").read_text().splitlines()
    cases = [json.loads(line) for line in lines]
    assert len(cases) >= 20
    speaker = {agent.name: agent for agent in profiles[1].values()}
    for case in cases:
        agents = (speaker[case["speaker"]], speaker["Sophia Brown"])
        wanted = EpisodeRequest(
            scene=Scene(environment=scenes[0].environment, agents=agents),
            script=(say(case["utterance"]), ()),
            judge_replies=(recorded[0][1]["judge_reply"],),
        )
        assert engine.episode(wanted).record["steps"][0]["obs"] == case["package_last_turn"]
        assert record(wanted)["steps"][0]["obs"] == [case["ours"], case["ours"]]
