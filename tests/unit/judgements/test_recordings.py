"""Conversations that the environment `sotopia` keeps: judged later by models and by rules."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.judging import Model, model_judge, none_of, rated, sotopia_reply
from support.sotopia_models import run, settled
from support.sotopia_profiles import write_lines, write_profiles

from agentevol.data.judgements.batch import judge_entries
from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.files import read_entries
from agentevol.data.judgements.items import ITEM, Recording
from agentevol.data.judgements.judges.rules import RuleJudge
from agentevol.data.judgements.panel import Asked, Panel
from agentevol.data.rewards.testing import example_episodes
from agentgym_envs.home import data_home
from agentgym_envs.sotopia.data.importing import import_official
from agentgym_envs.sotopia.environment import Sotopia
from agentgym_envs.sotopia.models.judge import JudgeFault
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA
from agentgym_envs.sotopia.protocol.prompts import judge_prompt
from agentgym_store.jsonl import export_jsonl

FAMILIES = ("price", "split", "friends", "schedule", "secrets", "persuade")
JUDGE = RuleJudge(Conversations())
NOWHERE = "http://127.0.0.1:1/v1"


async def played(
    world: Sotopia, task_id: str, seed: int, messages: Iterator[str] | None = None
) -> dict[str, Any]:
    """The last info of an episode; by default of the environment's own player."""
    task = world.task(task_id)
    said = messages or iter(world.demonstrate(task, seed))
    await settled(world.reset(task, seed))
    while True:
        result = await settled(world.step(next(said)))
        if result.terminated or result.truncated:
            return result.info


def recording(record: dict[str, Any], **changed: Any) -> Recording:
    item = ITEM.validate_python({"record": {**record, **changed}})
    assert isinstance(item, Recording)
    return item


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", [3, 4])
async def test_a_generated_conversation_is_scored_as_the_environment_did(family: str, seed: int) -> None:
    info = await played(Sotopia(), f"test/{family}/2/{seed}", seed)
    (found,) = await rated(JUDGE, recording(info["conversation"]))
    assert found.scores[info["seat"]] == info["dimensions"]


async def test_the_seed_of_a_record_has_an_effect() -> None:
    """Hidden parameters, which the seed gives, decide how far a listener comes."""
    info = await played(Sotopia(), "test/persuade/2/3", 3)
    goals = {
        (await rated(JUDGE, recording(info["conversation"], seed=seed)))[0].scores[info["seat"]]["goal"]
        for seed in range(6)
    }
    assert len(goals) > 1


async def test_a_judge_that_failed_is_made_up_for_later(tmp_path: Path) -> None:
    kept = tmp_path / "unjudged.jsonl"
    world = Sotopia(judge_model="big", judge_url=NOWHERE, unjudged=str(kept))
    with pytest.raises(JudgeFault):
        await played(world, "test/price/1/1", 1)
    (entry,) = read_entries(str(kept))
    assert isinstance(entry.item, Recording)
    record = entry.item.record
    assert record.status == "unjudged"
    model = Model(sotopia_reply(9, 2))
    (found,) = await rated(model_judge(model), entry.item)
    assert [seat["goal"] for seat in found.scores] == [9.0, 2.0]
    told = model.bodies[0]["messages"][0]["content"]
    assert told == judge_prompt(record.judge_background or "", record.names, record.log, SOTOPIA)


async def test_a_conversation_that_a_partner_broke_off_has_no_scores() -> None:
    info = await played(Sotopia(), "test/price/1/1", 1)
    broken = recording(info["conversation"], status="unfinished", judge_background="b")
    for judge in (JUDGE, model_judge(Model())):
        assert await none_of(judge, broken) == (
            "unsupported",
            "the conversation is not over: a partner failed",
        )
    lost = recording(info["conversation"], task_id="test/poker/1/1")
    assert (await none_of(JUDGE, lost))[0] == "unsupported"


async def test_a_published_conversation_is_found_by_its_profiles(tmp_path: Path) -> None:
    import_official(write_profiles(tmp_path / "profiles"), data_home())
    world = Sotopia(partner="rule", judge="verify")
    task = next(one for one in map(world.task, ("sotopia/0", "sotopia/3")) if one.generated is None)
    messages = iter(["[OFFER 30]", "[ACCEPT]", *["Well."] * 20])
    info = await played(world, task.id, 5, messages)
    (found,) = await rated(RuleJudge(Conversations(), "moves"), recording(info["conversation"]))
    scores = found.scores[info["seat"]]
    assert {name: one and round(one, 3) for name, one in scores.items()} == info["dimensions"]


def test_episodes_of_a_run_are_judged_as_conversations_once_for_both_seats(tmp_path: Path) -> None:
    info = run(played(Sotopia(), "test/split/1/2", 2))
    (first,) = example_episodes(0, 1)
    last = first.turns[-1].model_copy(update={"info": info})
    seats = [
        first.model_copy(update={"id": f"run/{seat}", "episode_id": "run", "seat": seat, "turns": (last,)})
        for seat in (0, 1)
    ]
    file = tmp_path / "export.jsonl"
    export_jsonl(seats, file)
    (entry,) = read_entries(str(file))
    assert (entry.item.id, entry.item.type) == ("run", "record")
    (judged,) = judge_entries([entry], Panel([JUDGE]), Asked(), tmp_path / "out.jsonl")
    assert judged.status == "ok"
    assert judged.scores[info["seat"]] == info["dimensions"]


def test_a_record_that_is_none_is_refused_with_its_place(tmp_path: Path) -> None:
    info = json.loads(json.dumps(run(played(Sotopia(), "test/split/1/2", 2))["conversation"]))
    write_lines(tmp_path / "kept.jsonl", [info, {**info, "log": [[["shout", "!"], ["none", ""]]]}])
    with pytest.raises(ValueError, match=r"line 2: record\.log\.0\.0\.action_type: Input should be"):
        read_entries(str(tmp_path / "kept.jsonl"))
