"""Engines for the partners that single episodes name."""

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentevol.core.errors import ConfigError, PolicyFault
from agentevol.core.protocols import Checkpoint, Conversation, Sampling
from agentevol.rollout.partner_engines import PartnerEngines
from agentgym_envs.core import Observation
from agentgym_envs.formats import FORMATS

ONE, TWO, THREE = (Checkpoint(Path(f"checkpoints/{number:04d}"), number) for number in (1, 2, 3))
SAMPLING = Sampling()


class Engine:
    """Engine whose policy is named after its weights."""

    lost = False

    def __init__(self, weights: Checkpoint) -> None:
        self.update(weights)

    def update(self, weights: Checkpoint) -> None:
        if weights.version == 9:
            raise ConfigError("no such folder")
        self.weights = weights

    def serve(self, sampling: Sampling) -> Any:
        return SimpleNamespace(name=self.weights.path.name)

    def close(self) -> None:
        pass


def engines(most: int = 2) -> PartnerEngines:
    return PartnerEngines(Engine, FORMATS["plain"], most)


async def test_episodes_with_equal_partners_share_an_engine_and_others_have_one_of_their_own():
    held = engines()
    async with (
        held.player(ONE, SAMPLING) as first,
        held.player(ONE, SAMPLING) as again,
        held.player(TWO, SAMPLING) as other,
    ):
        assert [first.name, again.name, other.name] == ["0001", "0001", "0002"]
    assert len(list(held)) == 2
    async with held.player(TWO, SAMPLING) as other:
        assert (other.name, len(list(held))) == ("0002", 2)


async def test_an_episode_waits_until_an_engine_is_free_and_no_partner_changes_meanwhile():
    held = engines()
    order: list[str] = []

    async def wait_for_three() -> None:
        async with held.player(THREE, SAMPLING) as third:
            order.append(third.name)

    async with held.player(TWO, SAMPLING) as second:
        async with held.player(ONE, SAMPLING) as first:
            waiting = asyncio.create_task(wait_for_three())
            await asyncio.sleep(0.05)
            order.append(first.name)
        await waiting
        order.append(second.name)
        assert sorted(one.weights.version for one in held) == [2, 3]  # type: ignore[attr-defined]
    assert order == ["0001", "0003", "0002"]
    assert len(list(held)) == 2


async def test_weights_that_cannot_be_loaded_fail_their_episode_alone():
    held = engines(most=1)
    for _ in range(2):
        with pytest.raises(PolicyFault, match="partner 0009: no such folder"):
            async with held.player(Checkpoint(Path("checkpoints/0009"), 9), SAMPLING):
                pass
    async with held.player(ONE, SAMPLING) as first:
        assert first.name == "0001"


async def test_a_script_needs_no_engine():
    held = engines(most=1)
    async with held.player(ONE, SAMPLING), held.player("spray", SAMPLING) as script:
        shown = Conversation("e", [], observation=Observation(text="", actions=("say",)))
        assert (script.name, (await script.act(shown, 0)).text) == ("spray", "say")
    with pytest.raises(ConfigError, match="no scripted policy named 'nobody'"):
        async with held.player("nobody", SAMPLING):
            pass
