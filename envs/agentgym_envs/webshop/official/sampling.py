"""Goal sampling of the original for resets without a goal: by weight, and off by one."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from random import Random


class WeightedGoals:
    """Weighted sampler of goal numbers.

    Goal 0 is never drawn, goal k has the weight of goal k - 1, and the last its own as well: the original
    looks its number up in sums that begin with 0, and so finds the next one.
    """

    def __init__(self, weights: Iterable[float]) -> None:
        """Raises `ValueError` without weights, for one below 0, or if none is above."""
        given = list(map(float, weights))
        if not given or min(given) < 0 or not 0 < sum(given) < float("inf"):
            raise ValueError(f"{len(given)} weights, from which no goal can be drawn")
        self._last = len(given) - 1
        self._sums = list(accumulate(given, initial=0.0))

    def at(self, u: float) -> int:
        """The goal number at `u`, a fraction of the total weight from 0 to 1."""
        return min(bisect_right(self._sums, u * self._sums[-1]), self._last)

    def draw(self, random: Random) -> int:
        """A goal number from a generator, with one draw."""
        return self.at(random.random())
