"""Which goal the original draws where a reset names none: by weight, and off by one."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from random import Random


class WeightedGoals:
    """Numbers of goals. Goal 0 is never drawn, goal k has the weight of goal k - 1, and the last its own as
    well: the original looks its number up in sums that begin with 0, and so finds the next one.
    """

    def __init__(self, weights: Iterable[float]) -> None:
        """Raises `ValueError` for no weights, one below 0, or none above."""
        given = list(map(float, weights))
        if not given or min(given) < 0 or not 0 < sum(given) < float("inf"):
            raise ValueError(f"{len(given)} weights, from which no goal can be drawn")
        self._last = len(given) - 1
        self._sums = list(accumulate(given, initial=0.0))

    def at(self, u: float) -> int:
        """The number that `u` draws: from 0 to 1, as a fraction of all weight."""
        return min(bisect_right(self._sums, u * self._sums[-1]), self._last)

    def draw(self, random: Random) -> int:
        """One by a generator, which makes one number for it."""
        return self.at(random.random())
