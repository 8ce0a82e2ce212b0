"""Rows of a world by table, and quick draws."""

import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, TypeVar

Row = tuple[Any, ...]
Rows = defaultdict[str, list[Row]]
"""Rows by the name of their table, in the order of its columns."""
ItemT = TypeVar("ItemT")


def listed(text: str, separator: str | None = None) -> tuple[str, ...]:
    """The parts of a text, at spaces by default."""
    return tuple(text.split(separator))


class Draw(random.Random):
    """Random numbers with draws that a world makes by the thousand."""

    def pick(self, items: Sequence[ItemT]) -> ItemT:
        """One of the items, equally likely; several times as quick as `choice`."""
        return items[int(self.random() * len(items))]

    def several(self, items: Sequence[ItemT], least: int, most: int) -> list[ItemT]:
        """Between `least` and `most` different items, in the order in which they are drawn."""
        wanted = least + int(self.random() * (most - least + 1))
        found = dict[ItemT, None]()
        while len(found) < wanted:
            found[self.pick(items)] = None
        return list(found)

    def sometimes(self, probability: float, value: ItemT) -> ItemT | None:
        """The value with this probability, otherwise None."""
        return value if self.random() < probability else None
