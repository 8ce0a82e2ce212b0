"""Scripted customer that reads: it searches, opens plausible items, compares features with the instruction,
and buys.

It sees pages only, knows synonyms of some facts, and forgets: with `care` below 1 it omits words of its
search, skips prices and features, chooses fewer options than it could, or buys an item that it should reject.
Its behaviour is worth imitating, and leaves room for improvement.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.webshop.generator.vocabulary import CATEGORIES
from agentgym_envs.webshop.players.baselines import wanted
from agentgym_envs.webshop.players.visit import Offer, Visit
from agentgym_envs.webshop.shop import Shop

LOOK = 4
"""Turns to an item, to its features, and back; one less on the first page, to which a search leads back."""


@dataclass(frozen=True)
class Demand:
    """Parsed instruction."""

    facts: tuple[str, ...]
    """Required facts, in sellers' words."""
    head: str
    """Subject, up to the first comma and without facts, which are in texts that no search covers."""
    pieces: tuple[str, ...]
    """Other requirements between commas: mostly options."""
    bound: float
    """Price bound in dollars."""


@dataclass(frozen=True)
class Seen:
    """Inspected item, and the part of the demand that it meets."""

    asin: str
    number: int
    """Page of results of the item."""
    options: Mapping[str, str]
    facts: int
    alike: int
    """Number of the demand's words in its features."""

    @property
    def fit(self) -> tuple[int, int]:
        """Key for comparisons."""
        return self.facts + len(self.options), self.alike


def shop_around(shop: Shop, instruction: str, draw: Random, max_turns: int, care: float = 1.0) -> list[str]:
    """Messages of an episode, at most `max_turns`; inspecting an item takes seven with its purchase.

    Each step that can be forgotten is, each time, with probability 1 - `care`.
    """
    customer = Customer(Visit(shop), understood(instruction), draw, max_turns, care)
    customer.shop()
    return customer.visit.messages


class Customer:
    """Customer that inspects one item after another; subclasses override its messages and choices
    (`agentgym_envs.webshop.players.thinker`).
    """

    def __init__(self, visit: Visit, demand: Demand, draw: Random, max_turns: int, care: float) -> None:
        self.visit = visit
        self.demand = demand
        self._draw = draw
        self._max_turns = max_turns
        self._care = care
        self._query = ""
        self._seen: list[Seen] = []

    def shop(self) -> None:
        """Play from the search to the purchase."""
        self._query = self.query()
        self.search(self._query)
        for offer in self._offers():
            seen = self.look(offer)
            if self.is_content(seen):
                self._buy(seen)
                return
            self._seen.append(seen)
            self._leave()
        if self._seen:
            best = max(self._seen, key=lambda seen: seen.fit)
            while self.visit.state.number != best.number:
                self.visit.back() if self.visit.state.number > best.number else self.visit.turn()
            self.visit.open(best.asin)
            self._buy(best)

    def query(self) -> str:
        """The search query."""
        more = [word for piece in self.demand.pieces for word in piece.split() if self.careful()]
        return " ".join([*self.demand.head.split(), *more])

    def search(self, query: str) -> None:
        """Search for a query."""
        self.visit.search(query)

    def worth_a_look(self, offers: Sequence[Offer]) -> Iterator[Offer]:
        """Items of a page of results to open, in order; evaluated lazily."""
        bound = self.demand.bound
        yield from [offer for offer in offers if offer.highest <= bound or not self.careful()]

    def look(self, offer: Offer) -> Seen:
        """Open an item, and its features if it has at least as many options as others."""
        self.visit.open(offer.asin)
        options = offered_options(self.visit.groups(), self.demand.pieces)
        number = self.visit.state.number
        if len(options) < max((len(seen.options) for seen in self._seen), default=0):
            return Seen(offer.asin, number, options, 0, 0)
        if not self.careful():  # trust the title
            return Seen(offer.asin, number, options, len(self.demand.facts), 0)
        text = f"{offer.title}\n{self.visit.read('features')}".lower()
        stated = sum(fact in text for fact in self.demand.facts)
        alike = len(_terms(" ".join(self.demand.pieces)) & _terms(text))
        return Seen(offer.asin, number, options, stated, alike)

    def is_content(self, seen: Seen) -> bool:
        """True if the inspected item should be bought."""
        return self._is_met(seen) or not self.careful()

    def careful(self) -> bool:
        """True if the next step is not forgotten; drawn each time."""
        return self._draw.random() < self._care

    def has_turns(self, turns: int) -> bool:
        """True if this many turns remain, and then those of a purchase: the way back, options and the
        button.
        """
        way = max((self.visit.state.number - seen.number for seen in self._seen), default=0)
        return len(self.visit.messages) + turns + way + 2 + len(self.demand.pieces) <= self._max_turns

    def _leave(self) -> None:
        """Return to the results."""
        if self.visit.state.page == "part" and self.visit.state.number == 1:
            self.search(self._query)
        while self.visit.state.page != "results":
            self.visit.back()

    def _offers(self) -> Iterator[Offer]:
        """Items on this page and the following ones, while turns remain."""
        while True:
            for offer in self.worth_a_look(self.visit.offers()):
                if not self.has_turns(LOOK - (self.visit.state.number == 1)):
                    return
                yield offer
            if not self.has_turns(2 + LOOK) or not self.visit.turn():
                return

    def _is_met(self, seen: Seen) -> bool:
        demand = self.demand
        return seen.facts == len(demand.facts) and len(seen.options) >= len(demand.pieces)

    def _buy(self, seen: Seen) -> None:
        if self.visit.state.page == "part":
            self.visit.back()
        others = {group: own for group, own in self.visit.groups().items() if group not in seen.options}
        for group, value in {**seen.options, **offered_options(others, [self.demand.head])}.items():
            if self.careful() and len(self.visit.messages) + 1 < self._max_turns:
                self.visit.choose(group, value)
        self.visit.buy()


def understood(instruction: str) -> Demand:
    """Parse an instruction."""
    text, bound = wanted(instruction)
    rest, facts = text, dict[str, None]()
    for phrase, fact in _phrases().items():
        if phrase in rest:
            rest = rest.replace(phrase, "")
            facts[fact] = None
    head, *pieces = rest.split(", ")
    asked = tuple(piece for piece in pieces if re.sub(r"\band\b|\W", "", piece))
    return Demand(tuple(facts), head, asked, bound)


@cache
def _phrases() -> Mapping[str, str]:
    """Paraphrases of facts in instructions, the longest first; those held out for tests are unknown."""
    facts = [fact for category in CATEGORIES for axis in category.facts.values() for fact in axis]
    known = {phrase: fact.attribute for fact in facts for phrase in (fact.attribute, *fact.paraphrases)}
    return {phrase: known[phrase] for phrase in sorted(known, key=len, reverse=True)}


def offered_options(groups: Mapping[str, Sequence[str]], pieces: Sequence[str]) -> dict[str, str]:
    """The longest value that each piece names, in the group that offers it."""
    found: dict[str, str] = {}
    for piece in pieces:
        named = [
            (value, group)
            for group, values in groups.items()
            for value in values
            if group not in found and re.search(rf"(?<!\w){re.escape(value)}(?!\w)", piece)
        ]
        value, group = max(named, key=lambda one: len(one[0]), default=("", ""))
        found |= {group: value} if value else {}
    return found


def _terms(text: str) -> frozenset[str]:
    return frozenset(analyzed(text))
