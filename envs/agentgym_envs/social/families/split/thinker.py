"""Notes of a player in a division: points of what is left for it, and what it can give."""

from agentgym_envs.social.families.split.shares import Share, offer_text, rest, worth
from agentgym_envs.social.family import TURNS
from agentgym_envs.social.thoughts import Talk, Thinker, Thought

TOTAL = 10
ASPIRATIONS = (10, 9, 9, 8, 8, 7, 7, 6, 5, 4)
"""Points to ask for by turn."""


class SplitThinker(Thinker):
    """Gives away what is worth least to it, as long as it keeps enough, and accepts what is enough."""

    def __init__(self, items: tuple[str, ...], pool: Share, values: Share) -> None:
        self._items, self._pool, self._values = items, pool, values

    def think(self, talk: Talk) -> Thought:
        """Offer or accept."""
        least = ASPIRATIONS[min(talk.turn, TURNS) - 1]
        kept: list[Share] = talk.heard_values("OFFER")
        left = rest(kept[-1], self._pool) if kept else None
        given = worth(left, self._values) if left else 0
        share, gifts = self._gifts(least, kept[-1] if kept else None)
        own: list[Share] = talk.own_values("OFFER")
        if own and share == own[-1]:  # who repeats itself is left
            share, gifts = self._gifts(least - 1, kept[-1] if kept else None)
        good = left is not None and (given >= least or (talk.turn == TURNS and given > 0))
        points = worth(share, self._values)
        counted = f"{self._sum(left)} make {given}" if left else "nothing to count"
        offer = offer_text(self._items, share)
        return Thought(
            history=f"they keep {self._named(kept[-1])}" if kept else "no offer of theirs",
            goal=f"{self._named(self._values)}, at least {least}",
            intent=f"they want {self._wanted(kept[-1])}" if kept else "they wait",
            assess=f"for me {self._named(left)}, {counted}" if left else counted,
            strategy="accept" if good else f"all 10, {gifts}",
            strategies="accept or ask",
            deduction=f"accept is {given}, ask is 10, {gifts}" if left else f"ask is 10, {gifts}",
            integration=f"accept {given}" if good else f"ask {points}",
            response="ACCEPT" if good else offer.strip("[]"),
            words="I take that. [ACCEPT]" if good else f"What about this? {offer}",
        )

    def _gifts(self, least: int, wanted: Share | None) -> tuple[Share, str]:
        """Share after gifts of single items, the cheapest first and among equals those that the other side
        keeps, as long as `least` points are left; and the points after each gift.
        """
        share, points, told = list(self._pool), TOTAL, list[str]()
        while True:
            fitting = [
                kind for kind, count in enumerate(share) if count and points - self._values[kind] >= least
            ]
            if not fitting or sum(share) == 1:
                break
            kind = min(fitting, key=lambda one: (self._values[one], -(wanted[one] if wanted else 0), one))
            share[kind] -= 1
            points -= self._values[kind]
            told.append(f"less {self._items[kind]} {points}")
        return tuple(share), ", ".join(told) or "nothing to give"

    def _named(self, share: Share) -> str:
        return " ".join(f"{item}={count}" for item, count in zip(self._items, share, strict=True))

    def _sum(self, share: Share) -> str:
        return " and ".join(str(count * value) for count, value in zip(share, self._values, strict=True))

    def _wanted(self, kept: Share) -> str:
        """Kinds of which the other side keeps all."""
        kinds = [item for item, own, all_ in zip(self._items, kept, self._pool, strict=True) if own == all_]
        return " ".join(kinds) or "some of all"
