"""Player with evidence, which learns from reactions what counts."""

from collections.abc import Sequence
from random import Random
from typing import Final

from agentgym_envs.social.content.evidence import TYPES
from agentgym_envs.social.content.phrases import LISTENING
from agentgym_envs.social.families.persuade.opinion import FADING, Card
from agentgym_envs.social.family import LEAVE, Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

STRENGTHS: Final = {
    strength: tuple(words for pool in LISTENING[strength].values() for words in pool)
    for strength in ("none", "some", "strong")
}
"""Comments of a listener on cards of weight 0, 1 and 2."""
UNTRIED = 1.1
"""Value of a type whose weight is unknown: its mean weight of 0.6, and what is learnt."""


class PersuadePlayer(Speaker):
    """Cites true cards only: of types that count, or else of one that it has not tried."""

    def __init__(self, cards: Sequence[Card], draws: Random) -> None:
        self._left = [card for card in cards if card.true]
        self._draws = draws
        self._weights: dict[str, int] = {}
        self._cited: list[Card] = []

    def reply(self, heard: Utterance | None) -> Action:
        """Cite the card that promises most."""
        if heard is not None and self._cited:
            for weight, words in enumerate(STRENGTHS.values()):
                if heard.words.startswith(words):
                    self._weights[self._cited[-1].type] = weight
        if not self._left or (heard is not None and heard.value("REJECT") is not None):
            return LEAVE
        best = max(self._left, key=lambda card: (self._promise(card.type), -TYPES.index(card.type)))
        self._left.remove(best)
        self._cited.append(best)
        words = ("Consider this.", "Look at this evidence.", "There is a reason.")
        return spoke(f"{self._draws.choice(words)} [CITE {best.id}]")

    def _promise(self, kind: str) -> float:
        if kind not in self._weights:
            return UNTRIED
        earlier = sum(card.type == kind for card in self._cited)
        return self._weights[kind] * FADING**earlier
