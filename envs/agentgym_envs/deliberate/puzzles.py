"""Counter puzzles: a counter of one digit and ten events, of which only the first few change it.

    Puzzle(start=3, events=(("plus", 4), ("times", 7), ("plus", 5), ("wait", 4), ("wait", 0), ...))
    after each event: 7, 9, 4, 4, 4, ...       depth 3

A policy that can do one sum at a glance must write digits down to get further: sums and products modulo 10 in
turn have no shortcut. There are 80 sums to know, few enough for a tiny model; waits carry any number, so that
even shallow puzzles are too many to be met twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from random import Random

VERSION = "1"
"""Part of `data_version`: another generator makes other tasks."""

EVENTS = 10
"""Number of events of every puzzle, so that its length does not reveal its depth."""

NUMBERS: dict[str, tuple[int, ...]] = {
    "plus": (1, 2, 3, 4, 5),
    "times": (3, 7, 9),  # other factors lose information about earlier digits
    "wait": tuple(range(10)),
}
"""Events with their numbers; waiting changes nothing."""

DEPTHS: dict[str, tuple[int, int]] = {
    "shallow": (1, 1),
    "medium": (3, 4),
    "deep": (7, 8),
    "deepest": (9, 10),
}
"""Minimum and maximum number of events that change the counter. The upper bounds are the numbers of digits
that a reply of mode 1, 2, 3, 4 holds, its answer included.
"""

SPLITS: dict[str, range] = {"train": range(10), "valid": range(10, 11), "test": range(11, 12)}
"""Residues modulo 12 of a puzzle's digest per split: no puzzle is in two."""

COUNTS = {"train": 1_000_000, "valid": 10_000, "test": 10_000}
"""Tasks of each difficulty."""


@dataclass(frozen=True)
class Puzzle:
    """Start digit of the counter, and its events."""

    start: int
    events: tuple[tuple[str, int], ...]

    @property
    def digits(self) -> tuple[int, ...]:
        """Digits of the counter after each event; the last one is the answer."""
        return tuple(_digits(self.start, self.events))

    @property
    def text(self) -> str:
        """The puzzle as an agent reads it, two words for each event."""
        return " ".join([f"Counter {self.start}", *(f"{what} {number}" for what, number in self.events)])


def after(digit: int, what: str, number: int) -> int:
    """Digit of the counter after an event, from `digit`."""
    changed = {"plus": digit + number, "times": digit * number, "wait": digit}
    return changed[what] % 10


@lru_cache(maxsize=1024)
def puzzle(split: str, difficulty: str, number: int) -> Puzzle:
    """The puzzle with this number; equal arguments give equal puzzles on every machine."""
    random = Random(f"{VERSION}/{split}/{difficulty}/{number}")
    while True:
        drawn = draw(random, random.randint(*DEPTHS[difficulty]))
        if _residue(drawn) in SPLITS[split]:
            return drawn


def draw(random: Random, depth: int) -> Puzzle:
    """A puzzle of which the first `depth` events change the counter, unless a 0 or 5 is multiplied."""
    kinds = [random.choice(("plus", "times")) if n < depth else "wait" for n in range(EVENTS)]
    return Puzzle(random.randrange(10), tuple((kind, random.choice(NUMBERS[kind])) for kind in kinds))


def _digits(digit: int, events: tuple[tuple[str, int], ...]) -> Iterator[int]:
    for what, number in events:
        digit = after(digit, what, number)
        yield digit


def _residue(drawn: Puzzle) -> int:
    return int.from_bytes(sha256(drawn.text.encode()).digest()[:8], "big") % 12
