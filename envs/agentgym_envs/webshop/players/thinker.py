"""Scripted customer with thoughts: the deciding words of a page are repeated before the action.

    <think> b015050803 $77.49 of 60.00 no b098399326 $53.95 of 60.00</think>click[b098399326]
    <think> machine wash on cold.</think>click[< prev]
    <think> machine wash no</think>search[ i need a machine wash blouse]
    <think> b098399326 no b012355137 $41.95 of 60.00</think>click[b012355137]

Who sees such actions alone does not find out what they depend on: a price here and a bound there, three words
among a hundred. A thought says both beside each other, and what is left to learn is to copy and to compare
neighbours. What this customer does not think of it does not look at: with little care it takes the next item
as it is.
"""

import math
import re
from collections.abc import Iterator, Sequence
from random import Random

from agentgym_envs.webshop.players.baselines import wanted
from agentgym_envs.webshop.players.shopper import LOOK, Customer, Seen, offered_options, understood
from agentgym_envs.webshop.players.visit import Offer, Visit
from agentgym_envs.webshop.shop import Shop

PRICES = 5
"""Maximum number of prices compared in one thought; if none fits, the page is turned."""
NO = " no"
"""Mark of a mismatch."""


def think_aloud(shop: Shop, instruction: str, draw: Random, max_turns: int, care: float = 1.0) -> list[str]:
    """Messages of an episode, at most `max_turns`; each look at prices and features, and each option, is
    forgotten with probability 1 - `care`.
    """
    customer = _Thinker(Visit(shop), instruction, draw, max_turns, care)
    customer.shop()
    return customer.visit.messages


class _Thinker(Customer):
    def __init__(self, visit: Visit, instruction: str, draw: Random, max_turns: int, care: float) -> None:
        super().__init__(visit, understood(instruction), draw, max_turns, care)
        self._wish = wanted(instruction)[0]

    def query(self) -> str:
        """The instruction as it is written, so that a policy learns to copy."""
        return self._wish

    def search(self, query: str) -> None:
        """Search with a leading space, so that each word has the same token as in the instruction."""
        self.visit.say(f"search[ {query}]")

    def worth_a_look(self, offers: Sequence[Offer]) -> Iterator[Offer]:
        """The next item whose price was compared and fits, or else the next item."""
        rest, before = list(offers), ""
        while rest and self.has_turns(LOOK - (self.visit.state.number == 1)):
            if math.isinf(self.demand.bound) or not self.careful():
                read = [""]
            else:
                read, suits = self._compared(rest[:PRICES])
                self.visit.think("".join([before, *read]))
                if not suits:
                    return
            opened = rest[len(read) - 1]
            yield opened
            before = f" {opened.asin.lower()}{NO}"
            del rest[: len(read)]

    def look(self, offer: Offer) -> Seen:
        """Open an item and, with care, its features."""
        self.visit.open(offer.asin)
        options = offered_options(self.visit.groups(), self.demand.pieces)
        number = self.visit.state.number
        if not self.careful():
            return Seen(offer.asin, number, options, len(self.demand.facts), 0)
        text = self.visit.read("features").lower()
        stated = [_stated(fact, text) for fact in self.demand.facts]
        self.visit.think(
            "".join(
                f" {words}." if words else f" {fact}{NO}"
                for fact, words in zip(self.demand.facts, stated, strict=True)
            )
        )
        return Seen(offer.asin, number, options, len(stated) - stated.count(""), 0)

    def is_content(self, seen: Seen) -> bool:
        """True if the item has the facts, as far as they were inspected."""
        return seen.facts == len(self.demand.facts)

    def _compared(self, offers: Sequence[Offer]) -> tuple[list[str], bool]:
        """The thought about each item up to the first whose price fits, and True if there is one."""
        read: list[str] = []
        for offer in offers:
            suits = offer.highest <= self.demand.bound
            read.append(
                f" {offer.asin.lower()} {offer.price_tag} of {self.demand.bound:.2f}{'' if suits else NO}"
            )
            if suits:
                return read, True
        return read, False


def _stated(fact: str, features: str) -> str:
    """The features' statement of a fact, from its first word to the end of the line; "" without one."""
    found = re.search(rf"{re.escape(fact)}[^\n]*", features)
    return found[0] if found else ""
