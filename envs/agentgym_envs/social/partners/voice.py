"""Voice of a partner: wordings of the split, drawn from the episode's generator."""

from collections.abc import Mapping
from random import Random

from agentgym_envs.social.content import Pools
from agentgym_envs.social.family import spoke
from agentgym_envs.sotopia.protocol.actions import Action


class Voice:
    """Words for the occasions of one family."""

    def __init__(self, phrases: Mapping[str, Pools], split: str, draws: Random) -> None:
        self._phrases, self._split, self._draws = phrases, split, draws

    def words(self, occasion: str, **fields: object) -> str:
        """A wording of an occasion."""
        return self._draws.choice(self._phrases[occasion][self._split]).format(**fields)

    def say(self, *parts: str) -> Action:
        """The action of saying the parts, empty ones left out."""
        return spoke(" ".join(part for part in parts if part))
