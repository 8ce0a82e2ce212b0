"""Which goal a reset draws that names none: as the original, which is off by one, by weight, or evenly."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from random import Random
from typing import Literal

Sampling = Literal["upstream", "weighted", "uniform"]


class RandomGoals:
    """Numbers of goals, drawn by these weights. `upstream` never draws goal 0; goal k has the weight of
    goal k - 1, and the last its own as well.
    """

    def __init__(self, weights: Iterable[float], way: Sampling = "upstream") -> None:
        """Raises `ValueError` for no weights, one below 0, or none above."""
        given = [1.0 if way == "uniform" else float(weight) for weight in weights]
        if not given or min(given) < 0 or not 0 < sum(given) < float("inf"):
            raise ValueError(f"{len(given)} weights, from which no goal can be drawn")
        self._last = len(given) - 1
        # The original looks its number up in sums that begin with 0, and so finds the next one.
        self._sums = list(accumulate(given, initial=0.0 if way == "upstream" else None))

    def at(self, u: float) -> int:
        """The number that `u` draws: from 0 to 1, as a fraction of all weight."""
        return min(bisect_right(self._sums, u * self._sums[-1]), self._last)

    def draw(self, random: Random) -> int:
        """One by a generator, which makes one number for it."""
        return self.at(random.random())
