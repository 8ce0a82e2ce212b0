"""Player of a sale with its own view: comes nearer as far as the other side's offers ask for."""

from itertools import pairwise
from random import Random

from agentgym_envs.social.families.price.side import LEAST, NEW, Side
from agentgym_envs.social.family import TURNS, Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

NEARER = 1.02 * NEW
"""Share of the gap by which it comes nearer: as little as counts."""
HELD, LEAST_GAIN = 1.1, 0.05
"""Utility at which it stays while patience lasts, and the one below which it never goes.

A target is 1/2 to 9/10 of the way to the other side's limit, so that this limit is worth 1.1 to 2.
"""
FIRST = 1.6
"""Utility that it asks for first at least."""
SLOWING = 0.8
"""Share of the first two concessions below which the latest two are slow."""
ENOUGH = 1.5
"""Utility of the best score, at which it accepts at once."""
HOLDS = 2
"""Turns in which it does not come nearer; a partner that leaves after so many is rare."""


class PricePlayer(Speaker):
    """Comes nearer by as little as counts, and takes at last what is no loss."""

    def __init__(self, side: Side, draws: Random) -> None:
        self._side, self._draws = side, draws
        self._turn, self._holds = 0, HOLDS
        self._has_last_word = False
        """Whether the other side spoke first, and so cannot answer the last offer."""
        self._heard: list[float] = []
        """Utilities of the other's offers."""
        self._asked = max(FIRST, side.utility(side.listed if side.sells else LEAST * side.listed))
        """Utility of its own offer: at first the best that is taken seriously."""

    def reply(self, heard: Utterance | None) -> Action:
        """Offer or accept."""
        offered = heard.value("OFFER") if heard is not None else None
        if offered is not None:
            self._heard.append(self._side.utility(offered))
            self._has_last_word = self._has_last_word or self._turn == 0
        if self._turn:
            self._asked = self._next()
        self._turn += 1
        best = self._heard[-1] if self._heard else -1.0
        is_last = self._turn == TURNS and (self._has_last_word or self._is_slowing())
        if best >= min(self._asked, ENOUGH) or (is_last and best >= 0):
            return spoke("That is fine. [ACCEPT]")
        words = ("What about this?", "I can come towards you.", "Here is my proposal.")
        return spoke(f"{self._draws.choice(words)} [OFFER {self._side.price(self._asked):.2f}]")

    def _is_slowing(self) -> bool:
        """Whether the other side comes nearer by less than at first: then its limit is out of reach."""
        moves = [later - earlier for earlier, later in pairwise(self._heard)]
        return sum(moves[-2:]) < SLOWING * sum(moves[:2])

    def _next(self) -> float:
        """Utility to ask for next."""
        gap = self._asked - (self._heard[-1] if self._heard else 0.0)
        nearer = self._asked - NEARER * gap
        if nearer >= HELD or not self._holds:
            return max(nearer, LEAST_GAIN)
        self._holds -= 1
        return self._asked
