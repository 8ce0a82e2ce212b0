"""Notes of a player in a sale: gap, a fifth of it, and the next offer."""

import math
from itertools import pairwise

from agentgym_envs.social.families.price.side import LEAST, Side
from agentgym_envs.social.family import TURNS
from agentgym_envs.social.thoughts import Talk, Thinker, Thought

PARTS = 5
"""A step is this part of the gap: as little as counts as coming nearer."""
HOLDS = 2
"""Offers that are repeated near the own target."""
DIMES = 100.0
"""List price below which offers have a decimal."""


class PriceThinker(Thinker):
    """Comes nearer by a fifth of the gap, holds at its target for a while, and accepts what is as good."""

    def __init__(self, side: Side) -> None:
        self._side = side
        self._unit = 0.1 if side.listed < DIMES else 1.0

    def think(self, talk: Talk) -> Thought:
        """Open, come nearer, hold or accept."""
        asks, offers = talk.own_values("OFFER"), talk.heard_values("OFFER")
        theirs = offers[-1] if offers else None
        if not asks:
            return self._opening(theirs)
        if theirs is None:
            return self._waiting(asks[-1])
        return self._bargaining(talk, asks, offers)

    def _opening(self, theirs: float | None) -> Thought:
        side = self._side
        first = side.listed if side.sells else self._up(LEAST * side.listed)
        why = "ask for all of it" if side.sells else f"four tenths of it are {self._text(first)}"
        return Thought(
            history="no offer of mine" if theirs is None else f"they offer {self._text(theirs)}",
            goal=self._goal,
            intent="they wait" if theirs is None else "they open",
            assess=f"the list price is {self._text(side.listed)}",
            strategy=f"open far, {why}",
            strategies="open far or open near",
            deduction=f"near gives room away, far is {why}",
            integration="open far",
            response=f"OFFER {self._text(first)}",
            words=f"Here is my proposal. [OFFER {self._text(first)}]",
        )

    def _waiting(self, asked: float) -> Thought:
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

    def _bargaining(self, talk: Talk, asks: list[float], offers: list[float]) -> Thought:
        side, asked, theirs = self._side, asks[-1], offers[-1]
        step = self._up(abs(asked - theirs) / PARTS)
        nearer = asked - side.sign * step
        if not side.at_least(nearer, side.limit):
            nearer = self._bound()
        held = sum(later == earlier for earlier, later in pairwise(asks))
        holds = held < HOLDS and not side.at_least(nearer, side.target) and side.at_least(asked, side.limit)
        next_ = asked if holds else nearer
        good = side.at_least(theirs, next_)
        last = talk.turn == TURNS and side.at_least(theirs, side.limit)
        own, other, new = self._text(asked), self._text(theirs), self._text(nearer)
        sums = f"a fifth of {self._text(abs(asked - theirs))} is {self._text(step)}, then {new}"
        choice = "accept" if good or last else "hold" if holds else "nearer"
        reached = "keeps" if side.at_least(nearer, side.target) else "misses"
        return Thought(
            history=f"me {own}, they {other}",
            goal=self._goal,
            intent=self._intent(offers),
            assess=f"gap {self._text(abs(asked - theirs))}, {self._within(theirs)}, turn {talk.turn}",
            strategy=f"{sums}, {choice}",
            strategies="accept, nearer or hold",
            deduction=f"{sums}, this {reached} my target, {other} is {'enough' if good else 'less'}",
            integration=choice,
            response="ACCEPT" if choice == "accept" else f"OFFER {self._text(next_)}",
            words="That is fine. [ACCEPT]"
            if choice == "accept"
            else f"I can come towards you. [OFFER {self._text(next_)}]"
            if choice == "nearer"
            else f"Here is my proposal. [OFFER {self._text(next_)}]",
        )

    @property
    def _goal(self) -> str:
        side = self._side
        verb = "sell" if side.sells else "buy"
        return f"{verb}, target {self._text(side.target)}, limit {self._text(side.limit)}"

    def _within(self, offer: float) -> str:
        return "within my limit" if self._side.at_least(offer, self._side.limit) else "beyond my limit"

    def _intent(self, offers: list[float]) -> str:
        if len(offers) < 2:
            return "they open"
        return "they stay" if offers[-1] == offers[-2] else "they come nearer"

    def _bound(self) -> float:
        """The limit, rounded to the better side."""
        side, unit = self._side, self._unit
        return (math.ceil if side.sells else math.floor)(round(side.limit / unit, 6)) * unit

    def _up(self, amount: float) -> float:
        """An amount, rounded up."""
        return max(1, math.ceil(round(amount / self._unit, 6))) * self._unit

    def _text(self, amount: float) -> str:
        return f"{amount:.0f}" if self._unit == 1 else f"{amount:.1f}"
