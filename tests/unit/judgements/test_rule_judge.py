"""Judge by rules: scores of what was agreed, and every way of giving none."""

from pathlib import Path
from typing import Any

import pytest
from support.judging import (
    COURTESY,
    GOAL,
    conversation,
    episode,
    none_of,
    rated,
    transcript,
)
from support.sotopia_profiles import TALK, scene_of, write_profiles

from agentevol.data.judgements.conversations import Conversations
from agentevol.data.judgements.items import Item, Social
from agentevol.data.judgements.judges.rules import RuleJudge
from agentgym_envs.social import Social as SocialWorld
from agentgym_envs.social.replay import replayed
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension

JUDGE = RuleJudge(Conversations())


async def test_an_agreement_is_scored_and_other_dimensions_are_none() -> None:
    # At 24 the seller, who wanted 32, has 8 + 16 * (24 - 32) / 32; the buyer 8 + 16 * (20 - 24) / 20.
    (found,) = await rated(JUDGE, conversation("I offer $24.", "Deal!"))
    assert [seat["goal"] for seat in found.scores] == [pytest.approx(4.0), pytest.approx(4.8)]
    assert [name for name, score in found.scores[0].items() if score is None] == [
        one.name for one in SOTOPIA if one.name not in ("goal", "financial_and_material_benefits")
    ]
    assert found.reasons[0]["goal"] == "deal at $24.00"


async def test_what_nobody_says_is_undecided_and_not_0() -> None:
    assert await none_of(JUDGE, conversation("$24?", "Hm.")) == (
        "undecided",
        "nobody explicitly accepts an amount that the other proposed",
    )
    moves = RuleJudge(Conversations(), "moves")
    (found,) = await rated(moves, conversation("$24?", "Hm."))
    assert [seat["goal"] for seat in found.scores] == [0.0, 0.0]  # by moves everything is decided


@pytest.mark.parametrize(
    "item",
    [
        conversation("Deal!", scene=None),
        conversation("Deal!", scene=scene_of(TALK)),
        transcript(),
    ],
    ids=["no scene", "no such goal", "transcript"],
)
async def test_what_no_program_can_check_is_unsupported(item: Item) -> None:
    kind, text = await none_of(JUDGE, item)
    assert (kind, text) == ("unsupported", "no program can check the goals of this item")


async def test_dimensions_that_the_rules_do_not_define_are_unsupported() -> None:
    item = conversation("I offer $24.", "Deal!")
    assert (await none_of(JUDGE, item, COURTESY))[0] == "unsupported"
    other_range = (Dimension("goal", 0, 5, ""),)
    assert (await none_of(JUDGE, item, other_range))[0] == "unsupported"


async def test_recorded_episodes_need_their_profiles(tmp_path: Path) -> None:
    item = episode("e", "I offer $24.", "Deal!")
    assert "agentevol data import sotopia" in (await none_of(JUDGE, item))[1]
    judge = RuleJudge(Conversations(write_profiles(tmp_path / "profiles")))
    (found,) = await rated(judge, item, GOAL)
    assert found.scores == ({"goal": pytest.approx(4.0)}, {"goal": pytest.approx(4.8)})
    strangers = item.episode.model_copy(update={"agents": ("bo", "cy")})
    kind, text = await none_of(judge, item.model_copy(update={"episode": strangers}))
    assert (kind, text) == (
        "unsupported",
        "the record is of Ana Reed and Bo Lind, its profiles are of Bo Lind and Cy Moss",
    )
    nowhere = item.episode.model_copy(update={"environment": "moon"})
    assert "no environment 'moon'" in (await none_of(judge, item.model_copy(update={"episode": nowhere})))[1]


@pytest.mark.parametrize("family", ["price", "split", "friends", "schedule", "secrets", "persuade"])
async def test_a_social_conversation_is_scored_as_the_environment_did(family: str) -> None:
    world = SocialWorld(family)
    task, seed = world.task(f"test/{family}/1/3"), 11
    messages = world.demonstrate(task, seed)
    world.reset(task, seed)
    *_, last = [world.step(message) for message in messages]
    snapshot: Any = world._episode
    log = tuple(snapshot.conversation.log)
    (found,) = await rated(JUDGE, Social(task_id=task.id, seed=seed, log=log))
    assert found.scores[task.seat] == last.info["dimensions"]
    assert found.scores[task.seat]["goal"] is not None
    assert (await none_of(JUDGE, Social(task_id=task.id, seed=seed, log=log[:1])))[0] == "undecided"
    assert replayed(task.id, seed, log).conversation.heard == snapshot.conversation.heard


async def test_a_social_conversation_that_cannot_have_been_is_unsupported() -> None:
    log = conversation("Hello.", "Hello.").log
    for item in (
        Social(task_id="test/price/9/0", seed=1, log=log),
        Social(task_id="test/price/1/0", seed=1, log=(log[1],)),
    ):
        assert (await none_of(JUDGE, item))[0] == "unsupported"
