"""What new weights mean to episodes under way."""

import asyncio
from typing import Any, cast

import pytest

from agentevol.cluster.workers.in_flight import InFlight, LatestPolicy
from agentevol.core.errors import PolicyFault, WeightsReplaced
from agentevol.core.protocols import Conversation, InFlightRule, RolloutEngine, Sampling
from agentevol.rollout.seats import Episode
from agentgym_store.records import Sample

EPISODE = cast(Episode, "the episode")


async def told(flight: InFlight) -> list[str]:
    """What happens when weights change while an episode is under way and another one is asked for."""
    events, may_end = list[str](), asyncio.Event()

    async def episode() -> Episode:
        events.append("first begins")
        await may_end.wait()
        events.append("first ends")
        return EPISODE

    async def other() -> Episode:
        events.append("second begins")
        return EPISODE

    async def swap() -> None:
        async with flight.new_weights():
            events.append("swap")
            await asyncio.sleep(0)
            events.append("swapped")

    first = asyncio.create_task(flight.play(episode()))
    await asyncio.sleep(0.01)
    swapping = asyncio.create_task(swap())
    await asyncio.sleep(0.01)
    second = asyncio.create_task(flight.play(other()))
    await asyncio.sleep(0.01)
    may_end.set()
    await swapping
    events.append("given up" if await first is None else "kept")
    assert await second == EPISODE
    return events


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("continue", ["first begins", "swap", "swapped", "second begins", "first ends", "kept"]),
        ("finish", ["first begins", "first ends", "swap", "swapped", "kept", "second begins"]),
        ("abort", ["first begins", "swap", "swapped", "second begins", "given up"]),
    ],
)
def test_each_rule(rule: InFlightRule, expected: list[str]):
    assert asyncio.run(told(InFlight(rule))) == expected


def test_an_episode_that_is_cancelled_from_outside_was_not_given_up():
    async def cancelled() -> None:
        flight = InFlight("abort")
        playing = asyncio.create_task(flight.play(asyncio.sleep(10, EPISODE)))
        await asyncio.sleep(0.01)
        playing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await playing
        async with flight.new_weights():  # nothing is under way any more
            pass

    asyncio.run(cancelled())


def test_a_swap_that_fails_lets_episodes_begin_again():
    async def failing() -> None:
        flight = InFlight("finish")
        with pytest.raises(PolicyFault):
            async with flight.new_weights():
                raise PolicyFault("no such weights")
        assert await flight.play(asyncio.sleep(0, EPISODE)) == EPISODE

    asyncio.run(failing())


class Engine:
    """Has new weights by the time it is asked for the second turn."""

    def __init__(self) -> None:
        self.version, self.released = 0, list[str]()

    def serve(self, sampling: Sampling) -> "Served":
        return Served(self, self.version)


class Served:
    name = "weights"

    def __init__(self, engine: Engine, version: int) -> None:
        self.engine, self.version = engine, version

    async def act(self, conversation: Conversation, seed: int) -> Sample:
        if len(conversation.samples) == 1 and self.engine.version == 0:
            self.engine.version = 1  # while the act waits
        if self.version != self.engine.version:
            raise WeightsReplaced("older weights")
        return Sample(text="a", token_ids=(1,), logprobs=(0.0,), prompt_ids=(0,), policy_version=self.version)

    def release(self, conversation_id: str) -> None:
        self.engine.released.append(conversation_id)


def test_an_episode_goes_on_under_new_weights_and_every_turn_tells_their_version():
    engine = Engine()
    policy = LatestPolicy(cast(RolloutEngine, cast(Any, engine)), Sampling())
    conversation = Conversation("c", [])

    async def three_turns() -> list[int | None]:
        for seed in range(3):
            conversation.say(await policy.act(conversation, seed))
        return [sample.policy_version for sample in conversation.samples]

    assert asyncio.run(three_turns()) == [0, 1, 1]
    policy.release("c")
    assert engine.released == ["c"]
