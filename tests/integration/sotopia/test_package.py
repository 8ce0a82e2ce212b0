"""The package `sotopia` 0.1.5 beside our protocol: an endpoint, what differs on purpose, and failures."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.sotopia import Endpoint, as_json, judge_reply, package_engine, package_python, say, scene, served

from agentgym_envs.sotopia.package.client import (
    ENGINE,
    EndpointFailed,
    JudgeFailed,
    PackageEngine,
    RequestRefused,
)
from agentgym_envs.sotopia.package.records import played, record, started
from agentgym_envs.sotopia.package.request import EpisodeRequest
from agentgym_envs.sotopia.protocol.actions import Action, ReplyError, from_json
from agentgym_envs.sotopia.protocol.conversation import TurnError
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, judgement_format
from agentgym_envs.sotopia.protocol.judgement import JudgementError
from agentgym_envs.sotopia.protocol.prompts import ACTION_FORMAT, ACTION_SCHEMA
from agentgym_envs.sotopia.protocol.views import background, judge_background

REPLY = judge_reply(Random(0))
TITLE = "EvaluationForAgents[SotopiaDimensions]"


@pytest.fixture(scope="module")
def engine() -> Generator[PackageEngine]:
    with package_engine() as engine:
        yield engine


def episode(*script: tuple[Action, ...], **changed: Any) -> EpisodeRequest:
    first, second = (*script, (), ())[:2]
    return EpisodeRequest(scene=scene(), script=(first, second), judge_replies=(REPLY,)).model_copy(
        update=changed
    )


def different(engine: PackageEngine, wanted: EpisodeRequest) -> set[str]:
    """Fields in which the two records differ."""
    found, ours = engine.episode(wanted).record, record(wanted)
    assert set(found) == set(ours)
    return {name for name in ours if found[name] != ours[name]}


def test_an_episode_with_an_endpoint_has_equal_requests_transcript_and_rewards(engine: PackageEngine) -> None:
    script = (
        say(*(f"I offer {n}, the {n}th." for n in range(9, -1, -1))),
        say(*(f"No, {n}." for n in range(10))),
    )
    replies = {"agent0": [*map(as_json, script[0])], "agent1": [*map(as_json, script[1])], "judge": [REPLY]}
    with served(Endpoint(replies)) as endpoint:
        wanted = EpisodeRequest(scene=scene(), endpoint=endpoint.url)
        found = engine.episode(wanted).record
    assert endpoint.keys == {"Bearer EMPTY"}

    # What the models answered, read by our reader, played by our protocol.
    read = tuple(tuple(map(from_json, texts)) for texts in (map(as_json, script[0]), map(as_json, script[1])))
    ours = wanted.model_copy(update={"script": read, "judge_replies": (REPLY,)})
    expected = record(ours)
    assert found["n_steps"] == 20
    assert {name for name in expected if expected[name] != found[name]} == {"script"}
    assert found["rewards"] == expected["rewards"]

    _, prompts = played(ours)
    asked = [(f"agent{seat}", text) for seat, _, text in prompts] + [("judge", expected["judge_prompt"])]
    assert len(endpoint.bodies) == 21
    for body, (model, text) in zip(endpoint.bodies, asked, strict=True):
        assert body["model"] == model
        assert body["messages"] == [{"role": "user", "content": text}]
        assert "temperature" not in body  # the package sends none
    schema = {**ACTION_SCHEMA, "additionalProperties": False}
    structured = {"name": "AgentAction", "schema": schema, "strict": True}
    for body in endpoint.bodies[:-1]:
        assert body["response_format"] == {"type": "json_schema", "json_schema": structured}
    assert "response_format" not in endpoint.bodies[-1]


@pytest.mark.parametrize(
    ("spoken", "heard"),
    [
        ("I have < 5", 'Ana Reed said: "I have  5"'),
        ("<b>$70</b> is fine", 'Ana Reed said: " is fine"'),
        ("5 &lt; 6", 'Ana Reed said: "5 < 6"'),
        ("one\rtwo", 'Ana Reed said: "one\ntwo"'),
        ("one\x0btwo", 'Ana Reed said: "onetwo"'),
    ],
)
def test_the_package_changes_an_utterance_that_is_kept_here(
    engine: PackageEngine, spoken: str, heard: str
) -> None:
    wanted = episode(say(spoken))
    assert engine.episode(wanted).record["steps"][0]["obs"] == [heard, heard]
    assert record(wanted)["steps"][0]["obs"] == [f'Ana Reed said: "{spoken}"'] * 2
    # The judge reads the utterance as it was.
    assert different(engine, wanted) == {"steps", "prompts", "last_prompt", "episode_log"}


def test_an_ampersand_alone_is_kept_by_both(engine: PackageEngine) -> None:
    assert different(engine, episode(say("AT&T and R&D > nothing"))) == set()


def test_the_judge_of_the_package_does_not_read_who_says_did_nothing(engine: PackageEngine) -> None:
    wanted = episode(say("I did nothing wrong"), say("Fine"))
    line = '\nAna Reed said: "I did nothing wrong"'
    found, ours = engine.episode(wanted).record, record(wanted)
    assert ours["judge_prompt"].replace(line, "") == found["judge_prompt"]
    assert line in ours["judge_prompt"]
    assert different(engine, wanted) == {"judge_prompt", "judge_prompt_sha256"}


@pytest.mark.parametrize(
    ("spoken", "filled"),
    [
        ("{format_instructions}", ACTION_FORMAT),
        ("{action_list}", "none speak non-verbal communication action leave"),
    ],
)
def test_a_placeholder_in_an_utterance_writes_into_prompts_of_the_package_only(
    engine: PackageEngine, spoken: str, filled: str
) -> None:
    wanted = episode(say(spoken))
    found, ours = engine.episode(wanted).record, record(wanted)
    assert f'Ana Reed said: "{filled}"' in found["last_prompt"]["1"]
    assert f'Ana Reed said: "{spoken}"' in ours["last_prompt"]["1"]
    assert found["steps"] == ours["steps"]


def test_the_judge_has_a_placeholder_of_its_own(engine: PackageEngine) -> None:
    wanted = episode(say("{agent_instruction}"))
    found, ours = engine.episode(wanted).record, record(wanted)
    assert found["judge_prompt"].count("There are exactly 2 agents.") == 2
    assert ours["judge_prompt"].count("There are exactly 2 agents.") == 1
    assert different(engine, wanted) == {"judge_prompt", "judge_prompt_sha256"}


def test_the_schema_of_the_judge_has_another_title_in_the_package(engine: PackageEngine) -> None:
    """The golden files were made with a class `Keyed`, as scores have to be sorted by key."""
    ordered = json.dumps({"evaluations": dict(sorted(json.loads(REPLY)["evaluations"].items()))})
    wanted = episode(say("Hi"), judge_replies=(ordered,), judge_schema="package")
    found, ours = engine.episode(wanted).record, record(wanted)
    assert judgement_format(SOTOPIA) in ours["judge_prompt"]
    assert found["judge_prompt"] == ours["judge_prompt"].replace('"title": "Keyed"', f'"title": "{TITLE}"')
    assert different(engine, wanted) == {"judge_prompt", "judge_prompt_sha256"}


def test_scores_belong_to_keys_and_not_to_places(engine: PackageEngine) -> None:
    entries = json.loads(REPLY)["evaluations"]
    swapped = json.dumps({"evaluations": {key: entries[key] for key in ("agent_2", "agent_1")}})
    wanted = episode(say("Hi"), judge_replies=(swapped,))
    assert different(engine, wanted) == set()
    ours = record(wanted)["rewards"]
    raw = engine.episode(wanted.model_copy(update={"judge_schema": "package"})).record["rewards"]
    assert ours["Ana Reed"] != ours["Bo Lind"]
    assert raw == {"Ana Reed": ours["Bo Lind"], "Bo Lind": ours["Ana Reed"]}


@pytest.mark.parametrize(
    ("goals", "theirs", "ours"),
    [
        (("", "Buy"), "Ana Reed's goal: \n", "Ana Reed's goal: Unknown\n"),
        (("this &lt; that", "Buy"), "Ana Reed's goal: this < that\n", "Ana Reed's goal: this &lt; that\n"),
    ],
)
def test_profiles_are_shown_as_they_are_and_a_missing_goal_is_unknown(
    engine: PackageEngine, goals: tuple[str, str], theirs: str, ours: str
) -> None:
    odd = scene(agent_goals=goals)
    assert theirs in engine.first_texts(odd, "package").reset_obs[0]
    assert ours in background(odd, 0, "package")


@pytest.mark.parametrize("view", ["package", "omniscient", "lite"])
def test_who_reads_a_paragraph_of_a_profile_is_as_in_the_package(engine: PackageEngine, view: Any) -> None:
    """No published profile has a paragraph for one agent, a goal that ends in white space, or no secret."""
    odd = scene(
        scenario="A <p viewer='agent_0'>dark</p> market. <p viewer='environment'>It rains.</p>",
        agent_goals=(
            "Sell <p viewer='agent_0'>fast</p>\n   or leave  ",
            " Buy <extra_info>it</extra_info>\n ",
        ),
    )
    first, second = odd.agents
    for agents in ((first, second), (second, first.model_copy(update={"secret": "", "gender": "Other"}))):
        changed = odd.model_copy(update={"agents": agents})
        found = engine.first_texts(changed, view)
        assert found.reset_obs == (background(changed, 0, view), background(changed, 1, view))
        assert found.judge == judge_background(changed, view)


def test_an_unreadable_reply_is_nothing_to_the_package_and_an_error_here(engine: PackageEngine) -> None:
    with served(Endpoint({"agent0": ["Hello!"], "agent1": ["Hello!"], "judge": [REPLY]})) as endpoint:
        found = engine.episode(EpisodeRequest(scene=scene(), endpoint=endpoint.url)).record
    assert found["steps"][0]["actions"] == [["none", ""], ["none", ""]]
    assert found["reasons"].endswith("The conversation stales for too long; ")
    with pytest.raises(ReplyError):
        from_json("Hello!")


def test_an_endpoint_that_fails_is_no_action(engine: PackageEngine) -> None:
    replies = {"agent0": [as_json(say("Hi")[0])], "agent1": [], "judge": [REPLY]}
    refused = pytest.raises(EndpointFailed, match="agent1 is out of order")
    with served(Endpoint(replies, failing=("agent1",))) as endpoint, refused:
        engine.episode(EpisodeRequest(scene=scene(), endpoint=endpoint.url))
    assert different(engine, episode(say("Hi"))) == set()  # the engine plays on


@pytest.mark.parametrize("reply", ["", "They did well.", '{"evaluations": {}}', "[]"])
def test_a_judge_without_a_judgement_is_an_error_on_both_sides(engine: PackageEngine, reply: str) -> None:
    wanted = episode(say("Hi"), judge_replies=(reply,))
    with pytest.raises(JudgeFailed, match="0 scores, not 14; judge: RequestRefused"):
        engine.episode(wanted)
    with pytest.raises(JudgementError):
        record(wanted)


def test_a_judge_that_cannot_be_reached_is_an_error(engine: PackageEngine) -> None:
    replies = {"agent0": ['{"action_type": "leave", "argument": ""}'], "judge": []}
    refused = pytest.raises(JudgeFailed, match="judge is out of order")
    with served(Endpoint(replies, failing=("judge",))) as endpoint, refused:
        engine.episode(EpisodeRequest(scene=scene(), endpoint=endpoint.url))


def test_two_characters_of_one_name_are_one_to_the_package(engine: PackageEngine) -> None:
    twins = scene().model_copy(update={"agents": (scene().agents[0], scene().agents[0])})
    wanted = episode(say("Hi"), say("You too"), scene=twins)
    with pytest.raises(RequestRefused, match="both characters are called Ana Reed"):
        engine.episode(wanted)
    conversation, _ = played(wanted)
    assert conversation.heard[:2] == ['Ana Reed said: "Hi"', 'Ana Reed said: "You too"']


STEPS = """
import asyncio, json, runpy, sys
found = runpy.run_path(sys.argv[1])
request = json.loads(sys.argv[2])
environment = found["Environment"](request, found["Judge"]("custom/judge@http://agent.invalid/v1", "keyed"))
found["generation"].acompletion = found["Models"](request, environment)
agents = {one.agent_name: one for one in found["characters"](request, ["", ""])}
environment.reset(agents=found["Agents"](agents))

def both(kind):
    return {name: found["AgentAction"](action_type=kind, argument="Hi") for name in environment.agents}

async def play():
    first, *_ = await environment.astep(both("speak"))
    await environment.astep(both("leave"))
    try:
        await environment.astep(both("speak"))
    except found["RequestRefused"] as error:
        refused = str(error)
    _, _, terminated, *_ = await found["ParallelSotopiaEnv"].astep(environment, both("speak"))
    heard = [one.last_turn for one in first.values()]
    found["answer"]({"heard": heard, "refused": refused, "ended": environment.ended, "again": terminated})

asyncio.new_event_loop().run_until_complete(play())
"""


def test_the_package_masks_an_action_out_of_turn_and_plays_on_after_the_end(tmp_path: Path) -> None:
    request = json.dumps(episode(judge_replies=(REPLY,)).line("episode"))
    settings = {
        "HOME": str(tmp_path),
        "SOTOPIA_STORAGE_BACKEND": "local",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    }
    command = [package_python(), "-I", "-c", STEPS, str(ENGINE), request]
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=True)
    seen = json.loads(done.stdout)
    assert seen["heard"] == ['Ana Reed said: "Hi"'] * 2  # Bo Lind spoke too
    assert seen["ended"]
    assert seen["refused"] == "a step after the end"  # repaired in the engine
    assert seen["again"] == {"Ana Reed": False, "Bo Lind": False}  # the package itself goes on

    conversation = started(episode())
    with pytest.raises(TurnError, match="it is the turn of Ana Reed"):
        conversation.apply({0: say("Hi")[0], 1: say("Hi")[0]})
    conversation.apply({0: Action(action_type="leave")})
    with pytest.raises(TurnError, match="the conversation is over"):
        conversation.apply({1: say("Hi")[0]})


def test_the_engine_counts_the_steps_of_its_speed(engine: PackageEngine) -> None:
    wanted = episode(say("one", "two", "three"), say("one", "two"))
    found = engine.speed(wanted, 4)
    assert found.steps == 4 * record(wanted)["n_steps"] == 4 * 6
    assert found.seconds > 0


def test_the_process_ends_with_ours_also_in_the_middle_of_an_episode(tmp_path: Path) -> None:
    package_python()  # skips
    program = """
import os, socket, threading
from support.sotopia import scene
from agentgym_envs.sotopia.package.client import PackageEngine
from agentgym_envs.sotopia.package.request import EpisodeRequest
silent = socket.create_server(("127.0.0.1", 0))  # accepts, and never answers
engine = PackageEngine()
wanted = EpisodeRequest(scene=scene(), endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
threading.Thread(target=engine.episode, args=(wanted,), daemon=True).start()
silent.accept()
print(engine.pid, flush=True)
os._exit(0)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    pid, until = int(done.stdout), time.monotonic() + 20
    while time.monotonic() < until and alive(pid):
        time.sleep(0.05)
    assert not alive(pid)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
