"""Spaces of observations and actions: any printable text."""

from functools import cache
from typing import NamedTuple

import numpy as np
from gymnasium import spaces

LINE_BREAKS = "\t\n\r"


class Characters(NamedTuple):
    """All printable characters of Unicode, and the white space that lines and tables need."""

    every: frozenset[str]
    ordered: tuple[str, ...]
    places: dict[str, np.int32]
    text: str


@cache
def characters() -> Characters:
    """About 144,000 characters, made on first use: they take 30 MB and a quarter of a second."""
    ordered = tuple(sorted([*filter(str.isprintable, map(chr, range(0x110000))), *LINE_BREAKS]))
    places = {character: np.int32(place) for place, character in enumerate(ordered)}
    return Characters(frozenset(ordered), ordered, places, "".join(ordered))


class PrintableText(spaces.Text):
    """Space of texts of 0 to `max_length` printable characters.

    The tables of `Text`, which each copy would hold separately, are shared: a batched space is one copy per
    environment.
    """

    def __init__(self, max_length: int, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(max_length, min_length=0, charset=LINE_BREAKS, seed=seed)

    @property
    def character_set(self) -> frozenset[str]:
        """Every character."""
        return characters().every

    @property
    def character_list(self) -> tuple[str, ...]:
        """All characters in order of their code points."""
        return characters().ordered

    @property
    def characters(self) -> str:
        """Iterator over the characters."""
        return characters().text

    def character_index(self, char: str) -> np.int32:
        """The index in `character_list`."""
        return characters().places[char]

    def contains(self, x: object) -> bool:
        """True if `x` is such a text."""
        return isinstance(x, str) and len(x) <= self.max_length and characters().every.issuperset(x)

    def __repr__(self) -> str:
        return f"PrintableText({self.max_length})"


def observation_space() -> PrintableText:
    """Texts of up to a million characters."""
    return PrintableText(2**20)


def action_space() -> PrintableText:
    """Texts up to the length limit of a server."""
    return PrintableText(2**16)
