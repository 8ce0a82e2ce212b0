"""Notes of a player in a sale: gap, a fifth of it, and the next offer, in three digits."""

import math
from itertools import pairwise

from agentgym_envs.social.families.price.side import LEAST, Side
from agentgym_envs.social.family import TURNS
from agentgym_envs.social.thoughts import Talk, Thinker, Thought

PARTS = 5
"""A step is a little more than this part of the gap: as little as counts as coming nearer."""
HOLDS = 2
"""Offers that are repeated near the own target."""


class PriceThinker(Thinker):
    """Comes nearer by a fifth of the gap, holds at its target for a while, and accepts what is as good.

    It counts in units of a hundredth of the list price's first digit: dimes, dollars or tens of dollars.
    """

    def __init__(self, side: Side) -> None:
        self._sign, self._sells = side.sign, side.sells
        self._power = min(max(math.floor(math.log10(side.listed)) - 2, -1), 2)
        self._listed, self._target = self._units(side.listed), self._units(side.target)
        round_ = math.ceil if side.sells else math.floor
        self._limit = round_(round(side.limit / 10**self._power, 6))
        """The limit, rounded to the better side."""
        self._least = math.ceil(round(LEAST * side.listed / 10**self._power, 6))

    def think(self, talk: Talk) -> Thought:
        """Open, come nearer, hold or accept."""
        asks = [self._units(one) for one in talk.own_values("OFFER")]
        offers = [self._units(one) for one in talk.heard_values("OFFER")]
        if not asks:
            return self._opening(offers)
        if not offers:
            return self._waiting(asks[-1])
        return self._bargaining(talk.turn, asks, offers)

    def _opening(self, offers: list[int]) -> Thought:
        first = self._text(self._listed if self._sells else self._least)
        why = "ask for all of it" if self._sells else f"four tenths of it are {first}"
        return Thought(
            history=f"they offer {self._text(offers[-1])}" if offers else "no offer of mine",
            goal=self._goal,
            intent="they open" if offers else "they wait",
            assess=f"the list price is {self._text(self._listed)}",
            strategy=f"open far, {why}",
            strategies="open far or open near",
            deduction=f"near gives room away, far is {why}",
            integration="open far",
            response=f"OFFER {first}",
            words=f"Here is my proposal. [OFFER {first}]",
        )

    def _waiting(self, asked: int) -> Thought:
        """Its own offer stands, and the other side has made none."""
        offer = self._text(asked)
        return Thought(
            history=f"me {offer}, they nothing",
            goal=self._goal,
            intent="they wait",
            assess="no gap yet",
            strategy=f"say {offer} again",
            strategies="come nearer or hold",
            deduction="nearer gives room away, nobody has asked for it",
            integration="hold",
            response=f"OFFER {offer}",
            words=f"Here is my proposal. [OFFER {offer}]",
        )

    def _bargaining(self, turn: int, asks: list[int], offers: list[int]) -> Thought:
        asked, theirs = asks[-1], offers[-1]
        gap = abs(asked - theirs)
        step = gap // PARTS + 1
        nearer = self._better(asked - self._sign * step, self._limit)
        held = sum(later == earlier for earlier, later in pairwise(asks))
        keeps = self._is_as_good(nearer, self._target)
        holds = held < HOLDS and not keeps and self._is_as_good(asked, self._limit)
        next_ = asked if holds else nearer
        good = self._is_as_good(theirs, next_)
        within = self._is_as_good(theirs, self._limit)
        choice = "accept" if good or (turn == TURNS and within) else "hold" if holds else "nearer"
        sums = f"a fifth of {self._text(gap)} is {self._text(step)}, then {self._text(nearer)}"
        offer = f"OFFER {self._text(next_)}"
        return Thought(
            history=f"me {self._text(asked)}, they {self._text(theirs)}",
            goal=self._goal,
            intent=self._intent(offers),
            assess=f"gap {self._text(gap)}, {'within' if within else 'beyond'} my limit, turn {turn}",
            strategy=f"{sums}, {choice}",
            strategies="accept, nearer or hold",
            deduction=f"{sums}, this {'keeps' if keeps else 'misses'} my target,"
            f" {self._text(theirs)} is {'enough' if good else 'less'}",
            integration=choice,
            response="ACCEPT" if choice == "accept" else offer,
            words={
                "accept": "That is fine. [ACCEPT]",
                "nearer": f"I can come towards you. [{offer}]",
                "hold": f"Here is my proposal. [{offer}]",
            }[choice],
        )

    @property
    def _goal(self) -> str:
        verb = "sell" if self._sells else "buy"
        return f"{verb}, target {self._text(self._target)}, limit {self._text(self._limit)}"

    def _intent(self, offers: list[int]) -> str:
        if len(offers) < 2:
            return "they open"
        return "they stay" if offers[-1] == offers[-2] else "they come nearer"

    def _is_as_good(self, price: int, other: int) -> bool:
        return self._sign * (price - other) >= 0

    def _better(self, price: int, other: int) -> int:
        return price if self._is_as_good(price, other) else other

    def _units(self, amount: float) -> int:
        return round(amount / 10**self._power)

    def _text(self, units: int) -> str:
        return f"{units / 10:.1f}" if self._power < 0 else str(units * 10**self._power)
