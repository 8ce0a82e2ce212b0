"""Reproducible random draws from a text key, independent of the process, its hashes and the Python version.

Of `random.Random` only `random()` is used, whose sequence for a seed is guaranteed to be stable.
"""

from collections.abc import Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def digest(*key: object) -> int:
    """64-bit hash of a key."""
    text = "/".join(map(str, key)).encode()
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big")


def unit(*key: object) -> float:
    """Uniform number in [0, 1) of a key."""
    return (digest(*key) >> 11) / (1 << 53)


class Draw:
    """Random sequence determined by its key."""

    def __init__(self, *key: object) -> None:
        self._next = Random("/".join(map(str, key))).random

    def below(self, end: int) -> int:
        """Integer from 0 to `end` - 1."""
        return int(self._next() * end)

    def within(self, low: float, high: float) -> float:
        """Number in [low, high)."""
        return low + (high - low) * self._next()

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self._next() < probability

    def pick(self, among: Sequence[T]) -> T:
        """One of the items."""
        return among[self.below(len(among))]

    def some(self, among: Sequence[T], count: int) -> list[T]:
        """`count` of the items, or all, in random order."""
        left = list(among)
        return [left.pop(self.below(len(left))) for _ in range(max(0, min(count, len(left))))]

    def shuffled(self, among: Sequence[T]) -> list[T]:
        """All items in random order."""
        return self.some(among, len(among))

    def quantile(self, points: Sequence[float], at: Sequence[float]) -> float:
        """Sample from a distribution with the value `points[i]` at the quantile `at[i]`, linear between them.

        Arithmetic only: logarithms may differ in the last bit between machines.
        """
        place = self._next()
        upper = next(i for i in range(1, len(at)) if place < at[i] or i == len(at) - 1)
        low, high = at[upper - 1], at[upper]
        share = (place - low) / (high - low)
        return points[upper - 1] + (points[upper] - points[upper - 1]) * share
