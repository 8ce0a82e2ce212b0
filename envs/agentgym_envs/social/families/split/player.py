"""Player of a division with its own view: concedes, and learns what the other side keeps."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random

from agentgym_envs.social.families.split.shares import Share, offer_text, rest, shares, value_vectors, worth
from agentgym_envs.social.family import TURNS, Speaker, spoke
from agentgym_envs.sotopia.moves import Utterance
from agentgym_envs.sotopia.protocol.actions import Action

TOTAL, LEAST_FIRST = 10, 7
"""Points of the whole pool, and the fewest of a first demand."""
FIRST, LAST = 10.0, 2.0
"""Points to ask for in the first and in the last turn."""
CURVE = 2.0
"""Exponent of the concession over the turns; above 1 it comes late."""


class SplitPlayer(Speaker):
    """Asks for shares that are worth enough, and among them for the one that the other side misses least."""

    def __init__(self, items: tuple[str, ...], pool: Share, values: Share, draws: Random) -> None:
        self._items, self._pool, self._values, self._draws = items, pool, values, draws
        self._turn = 0
        self._kept: list[Share] = []
        """Shares that the other side has asked to keep."""
        self._said: set[Share] = set()

    def reply(self, heard: Utterance | None) -> Action:
        """Offer or accept."""
        kept = heard.value("OFFER") if heard is not None else None
        if kept is not None:
            self._kept.append(kept)
        aspiration = FIRST - (FIRST - LAST) * (self._turn / (TURNS - 1)) ** CURVE
        self._turn += 1
        given = worth(rest(self._kept[-1], self._pool), self._values) if self._kept else -1
        if given >= aspiration or (self._turn == TURNS and given > 0):
            return spoke("I take that. [ACCEPT]")
        share = self._choice(aspiration)
        self._said.add(share)
        words = ("What about this?", "I propose the following.", "Let us do it so.")
        return spoke(f"{self._draws.choice(words)} {offer_text(self._items, share)}")

    def _choice(self, aspiration: float) -> Share:
        """The share that the other side is likeliest to grant, among those that are worth enough."""
        enough = [one for one in shares(self._pool) if worth(one, self._values) >= aspiration]
        fresh = [one for one in enough if one not in self._said] or enough or [self._pool]
        believed = self._believed()
        return max(fresh, key=lambda one: (self._granted(one, believed), worth(one, self._values), one))

    def _granted(self, share: Share, believed: Sequence[Share]) -> float:
        """Mean points of the other side for the rest, by what its values may be."""
        left = rest(share, self._pool)
        return sum(worth(left, values) for values in believed) / len(believed)

    def _believed(self) -> Sequence[Share]:
        """Values of the other side that agree best with its offers: it keeps what is worth most to it, and
        asks for no more than before.
        """
        vectors = value_vectors(self._pool, TOTAL)
        if not self._kept:
            return vectors
        misfit = [self._misfit(values) for values in vectors]
        least = min(misfit)
        return [values for values, one in zip(vectors, misfit, strict=True) if one <= least + 0.5]

    def _misfit(self, values: Share) -> float:
        """Misfit between values and the offers of the other side."""
        asked = [worth(kept, values) for kept in self._kept]
        rises = sum(max(0, later - earlier) for earlier, later in pairwise(asked))
        first = max(0.0, LEAST_FIRST - asked[0])
        spare = sum(
            count > 0 and asked[0] - value >= LEAST_FIRST + 1
            for count, value in zip(self._kept[0], values, strict=True)
        )
        return rises + first + spare
