"""Player's session in a shop: its messages, and the texts that are visible in its current state.

Baseline players see the shop only through it: search results by id, title and price, an item's options, and
the texts of its pages. Hidden fields of a catalogue (type, category, attributes, the purchase price within
its range) are on no page.
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
    """Item of a page of results."""

    asin: str
    title: str
    price_tag: str

    @property
    def highest(self) -> float:
        """Upper end of the price range in dollars, the maximum price."""
        return max(float(number) for number in _NUMBER.findall(self.price_tag))


class Visit:
    """Messages so far, and the resulting state."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.state = State()
        self.messages: list[str] = []
        self._thought = ""
        self._buttons = {BACK, PREVIOUS, SEARCH, BUY, *shop.parts}

    def say(self, message: str) -> bool:
        """Send a message; False if it has no effect, and is then not recorded."""
        after = self.shop.step(self.state, message)
        if after is None:
            return False
        self.state = after
        self.messages.append(render_thinking(self._thought, message) if self._thought else message)
        self._thought = ""
        return True

    def think(self, thought: str) -> None:
        """Add a thought to the message of the next action."""
        self._thought = thought

    def search(self, words: str) -> bool:
        """Search for words, without characters that would end the action early."""
        return self.say(f"search[{_UNSEARCHABLE.sub(' ', words).strip() or ' '}]")

    def open(self, asin: str) -> bool:
        """Open an item of this page of results."""
        return self.say(f"click[{asin}]")

    def turn(self) -> bool:
        """Turn to the next page of results, while there are hits on this one."""
        return bool(self.shop.shown(self.state)) and self.say(f"click[{NEXT}]")

    def back(self) -> bool:
        """Return from a part to its item, or from an item to the results."""
        return self.say(f"click[{PREVIOUS}]")

    def buy(self) -> bool:
        """Buy the item of the page."""
        return self.say(f"click[{BUY}]")

    def offers(self) -> list[Offer]:
        """Items of this page of results."""
        return [Offer(one.asin, one.title, one.price_tag) for one in self.shop.shown(self.state)]

    def groups(self) -> Mapping[str, tuple[str, ...]]:
        """Option values of this item, by group."""
        return self.shop.catalogue.products[self.state.asin].options

    def read(self, part: str) -> str:
        """The text of this item's `description` or `features`, on the page of it."""
        self.say(f"click[{part}]")
        product = self.shop.catalogue.products[self.state.asin]
        return product.description if part == "description" else "\n".join(product.bullets)

    def choose(self, group: str, value: str) -> bool:
        """Choose a value in its group, or in another one if the shop assigns the value there; never a button
        that has the same name.
        """
        upstream = self.shop.rules.duplicate_value == "upstream"
        plain = value not in self._buttons and self.shop.clickables(self.state).get(value) == group
        named = value if upstream or plain else f"{group}: {value}"
        action = parsed(f"click[{named}]", self.shop.rules.parser)
        if action is None or action.argument != named or named in self._buttons:
            return False
        return self.say(f"click[{named}]")
