"""The rollout benchmark gives both sides the same work, and its simulated rounds count by hand."""

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from agentevol.cli.benchmarks.rollout import tails, vllm_comparison
from agentevol.cli.benchmarks.rollout.environment import PatientWorld, requests, told
from agentevol.cli.benchmarks.rollout.loads import Load
from agentevol.cli.benchmarks.rollout.offline import changed
from agentevol.cli.benchmarks.rollout.tails import overlapped, waves
from agentevol.cli.benchmarks.rollout.work import Ask, Listed, as_begun, asks, sampled
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Conversation
from agentevol.engines.vllm.capabilities import check_installed
from agentevol.rollout.concurrent_episodes import play_all
from agentgym_envs.formats import FORMATS
from agentgym_store.records import Failed, Sample

try:
    check_installed()
    MISSING = ""
except ConfigError as reason:
    MISSING = str(reason)


class Counting:
    """A policy that reads how long each message is and says as many tokens as it has heard."""

    name, version = "counting", 0

    def __init__(self) -> None:
        self.acting = self.most = 0

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        self.acting += 1
        self.most = max(self.most, self.acting)
        await asyncio.sleep(0)
        self.acting -= 1
        ids = tuple(len(message.content.split()) for message in conversation.messages)
        said = (1,) * (len(conversation.samples) + 1)
        return Sample(
            text="go", prompt_ids=ids, token_ids=said, logprobs=(0.0,) * len(said), policy_version=0
        )

    def release(self, conversation_id: str) -> None:
        pass


async def played(world: PatientWorld, count: int, concurrency: int, policy: Counting | None = None):
    playing = play_all(
        world, policy or Counting(), requests(7, count), FORMATS["plain"], concurrency=concurrency
    )
    return [episode async for episode in playing]


async def test_episodes_have_the_turns_of_their_number():
    episodes = await played(PatientWorld(0.0, 2, 4), 3, 3)
    assert {episode.task_id: len(episode.turns) for episode in episodes} == {"7": 3, "8": 4, "9": 2}
    assert {episode.ending.kind for episode in episodes} == {"terminated"}
    again = await played(PatientWorld(0.0, 2, 4), 3, 1)
    texts = [sorted(turn.observation for one in some for turn in one.turns) for some in (episodes, again)]
    assert texts[0] == texts[1]


def test_no_two_turns_read_the_same():
    heard = {told(number, turn) for number in range(20) for turn in range(5)}
    assert len(heard) == 100
    assert [len(told(0, turn).split()) for turn in (0, 1)] == [150, 30]


async def test_the_work_is_each_turn_with_its_history_episode_by_episode():
    episodes = await played(PatientWorld(0.0, 2, 2), 2, 2)
    work = asks(reversed(episodes))
    assert work == 2 * [Ask((150,), 1), Ask((150, 1, 30), 2)]
    assert sampled(work) == 6


async def test_the_same_work_can_be_had_in_the_order_of_play():
    policy = Listed(Counting())
    world = cast(Any, PatientWorld(0.0, 2, 2))
    playing = play_all(world, policy, requests(7, 2), FORMATS["plain"], concurrency=2)
    episodes = [episode async for episode in playing]
    assert sorted(policy.begun[:2]) == sorted(policy.begun[2:]) == ["7", "8"]  # in turns
    work = as_begun(episodes, policy.begun)
    assert work == [*2 * [Ask((150,), 1)], *2 * [Ask((150, 1, 30), 2)]]
    assert sorted(work, key=repr) == sorted(asks(episodes), key=repr)
    for others in (policy.begun[:3], [*policy.begun, "7"]):
        with pytest.raises(ValueError, match="turns were begun"):
            as_begun(episodes, others)


async def test_episodes_that_failed_are_no_work_to_compare():
    (episode,) = await played(PatientWorld(0.0, 2, 2), 1, 1)
    failed = episode.model_copy(update={"ending": Failed(failure="transport", detail="")})
    with pytest.raises(ValueError, match="episode 7 ended otherwise"):
        asks([episode, failed])


async def test_waiting_worlds_leave_room_for_other_episodes():
    policy = Counting()
    await played(PatientWorld(0.02, 2, 2), 12, 12, policy)
    assert policy.most == 12


def test_only_what_is_set_is_handed_on():
    @dataclass
    class Arguments:
        model: str
        seed: int = 0
        dtype: str = "auto"
        more: list[int] = field(default_factory=list)

    assert changed(Arguments("m", dtype="float32")) == {"model": "m", "dtype": "float32"}
    assert changed(Arguments("m", more=[1])) == {"model": "m", "more": [1]}


# Two slots, rounds of four, an update of 2 s.
SECONDS = [1.0, 5.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]


# Round 1: max(1, 5) + max(1, 1) = 6; round 2: 1 + 1 = 2; two updates: 4.
def test_waves_wait_for_their_slowest():
    found = waves(SECONDS, slots=2, size=4, learn_s=2.0)
    assert found.wall_s == 12.0
    assert found.busy == pytest.approx(12 / 24)


# Round 1: one slot plays 5, the other 1 + 1 + 1: 5 s. Round 2: 2 s. Two updates: 4.
def test_a_synchronous_round_replaces_what_ends_and_waits_for_its_last():
    found = overlapped(SECONDS, slots=2, size=4, learn_s=2.0, most=0)
    assert (found.what, found.wall_s) == ("synchronous", 11.0)
    assert found.staleness == (0,) * 8


# Version 0 begins all: one slot plays 5, then a last 1; the other 1, 1, 1, 1, 1, 1. At 4 four have ended, but
# the slow one is of version 0 and may be learnt by update 1 at the latest: update 0 takes 4 to 6. At 6 all
# others have ended: update 1 from 6 to 8.
def test_an_asynchronous_round_goes_on_during_the_update():
    found = overlapped(SECONDS, slots=2, size=4, learn_s=2.0, most=1)
    assert found.wall_s == 8.0
    assert found.staleness == (0, 0, 0, 0, 1, 1, 1, 1)


@pytest.mark.parametrize("most", [0, 1, 2, 5])
def test_what_is_learnt_is_never_older_than_allowed(most: int):
    seconds = tails.drawn(400, seed=3)
    found = overlapped(seconds, slots=16, size=20, learn_s=30.0, most=most)
    assert len(found.staleness) == 400
    assert max(found.staleness) == most  # and it is used


def test_rounds_without_overlap_are_the_sum_of_their_parts():
    seconds = tails.drawn(60, seed=1)
    whole = overlapped(seconds, slots=4, size=20, learn_s=7.0, most=0).wall_s
    parts = [overlapped(seconds[first : first + 20], 4, 20, 7.0, 0).wall_s for first in (0, 20, 40)]
    assert whole == pytest.approx(sum(parts))
    assert overlapped(seconds, slots=4, size=20, learn_s=7.0, most=1).wall_s < whole


def test_the_drawn_tail_is_heavy():
    seconds = sorted(tails.drawn(20_000))
    assert seconds[10_000] == pytest.approx(20.0, rel=0.02)  # 600 tokens at 60 a second, and the median
    assert seconds[19_800] == pytest.approx(10 + 10 * 2.718281828 ** (1.2 * 2.3263), rel=0.1)


def test_the_simulation_says_that_it_is_one():
    found = tails.schedules()
    assert tails.lines(found)[0].startswith("simulated, with a fake engine")
    assert tails.as_json(found)["simulated"] is True


@pytest.mark.vllm
@pytest.mark.slow
@pytest.mark.skipif(bool(MISSING), reason=MISSING)
def test_vllm_does_the_same_work_for_both_sides():
    load = Load("instant", 0.0, (3, 4), 32, 32)
    with vllm_comparison.engines(slots=16) as sides:  # their first prompts are more tokens than a step takes
        one, again = (vllm_comparison.run(sides, load, first) for first in (1, 101))
    for found in (one, again):
        assert found.episodes == 32
        assert 105 * 6 <= found.sampled <= 112 * 6  # 112 turns, of which one in a hundred ends early
        assert all(0 < cached <= found.read for cached in found.cached)
    assert again.cached[0] == pytest.approx(one.cached[0], rel=0.2)  # nothing of the run before
    (*_, ratio) = vllm_comparison.figures(load, [one, again])
    sides_s = (one.wall_s, again.wall_s)
    assert ratio.runs == pytest.approx([theirs_s / ours_s for ours_s, theirs_s, _ in sides_s])
