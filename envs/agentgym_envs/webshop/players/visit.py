"""A player's walk through a shop: what it says, and what it can read where it stands.

Players of baselines see a shop only so: the results of a search by id, title and price, an item's options,
and the texts of its pages. What else a catalogue knows (type, category, attributes, what a product costs
inside its range) is on no page.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

from agentgym_envs.formats import render_thinking
from agentgym_envs.webshop.actions import parsed
from agentgym_envs.webshop.shop import BACK, BUY, NEXT, PREVIOUS, SEARCH, Shop
from agentgym_envs.webshop.state import State

_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_UNSEARCHABLE = re.compile(r"[\[\]\s]+")


class Offer(NamedTuple):
    """An item as a page of results shows it."""

    asin: str
    title: str
    price_tag: str

    @property
    def highest(self) -> float:
        """The upper end of the price, in dollars: what nobody pays more than."""
        return max(float(number) for number in _NUMBER.findall(self.price_tag))


class Visit:
    """Messages said so far, and the state they led to."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.state = State()
        self.messages: list[str] = []
        self._thought = ""
        self._buttons = {BACK, PREVIOUS, SEARCH, BUY, *shop.parts}

    def say(self, message: str) -> bool:
        """Whether it did something; only then it is a message of the visit."""
        after = self.shop.step(self.state, message)
        if after is None:
            return False
        self.state = after
        self.messages.append(render_thinking(self._thought, message) if self._thought else message)
        self._thought = ""
        return True

    def think(self, thought: str) -> None:
        """Before the next action, in its message."""
        self._thought = thought

    def search(self, words: str) -> bool:
        """For words, without what would end the action early."""
        return self.say(f"search[{_UNSEARCHABLE.sub(' ', words).strip() or ' '}]")

    def open(self, asin: str) -> bool:
        """Of an item on this page of results."""
        return self.say(f"click[{asin}]")

    def turn(self) -> bool:
        """To the next page of results, while there are hits on this one."""
        return bool(self.shop.shown(self.state)) and self.say(f"click[{NEXT}]")

    def back(self) -> bool:
        """From a part to its item, from an item to the results."""
        return self.say(f"click[{PREVIOUS}]")

    def buy(self) -> bool:
        """What is on the page."""
        return self.say(f"click[{BUY}]")

    def offers(self) -> list[Offer]:
        """On this page of results."""
        return [Offer(one.asin, one.title, one.price_tag) for one in self.shop.shown(self.state)]

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Values of this item's options, by group."""
        return self.shop.catalogue.products[self.state.asin].options

    def read(self, part: str) -> str:
        """The text of this item's `description` or `features`, on the page of it."""
        self.say(f"click[{part}]")
        product = self.shop.catalogue.products[self.state.asin]
        return product.description if part == "description" else "\n".join(product.bullets)

    def choose(self, group: str, value: str) -> bool:
        """A value in its group, or in another one where the shop has no name for it in this one; never a
        button that happens to be called so.
        """
        upstream = self.shop.rules.duplicate_value == "upstream"
        plain = value not in self._buttons and self.shop.clickables(self.state).get(value) == group
        named = value if upstream or plain else f"{group}: {value}"
        action = parsed(f"click[{named}]", self.shop.rules.parser)
        if action is None or action.argument != named or named in self._buttons:
            return False
        return self.say(f"click[{named}]")
