"""Ratings as arrays: what was rated, by whom, and the rating.

items ("a", "b")   sources ("human:Anna", "judge:m")
item_N [0, 0, 1]   source_N [0, 1, 1]   value_N [0.75, 0.5, 1.0]
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentevol.data.feedback.aggregation.sources import identity
from agentgym_store.feedback.records import Feedback, Score

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Ratings:
    """N ratings of I items by J sources; a source rates an item once."""

    items: tuple[Hashable, ...]
    sources: tuple[str, ...]
    item_N: Ints
    source_N: Ints
    value_N: Floats

    def without(self, left_out_J: NDArray[np.bool_]) -> "Ratings":
        """The ratings of the other sources; items and sources keep their numbers."""
        kept = ~left_out_J[self.source_N]
        return Ratings(self.items, self.sources, self.item_N[kept], self.source_N[kept], self.value_N[kept])

    def by_item(self, weight_N: Floats | None = None) -> Floats:
        """(I,) sum of the weights of each item's ratings; without weights their number."""
        return np.bincount(self.item_N, weight_N, len(self.items)).astype(np.float64)

    def by_source(self, weight_N: Floats | None = None) -> Floats:
        """(J,) sum of the weights of each source's ratings; without weights their number."""
        return np.bincount(self.source_N, weight_N, len(self.sources)).astype(np.float64)

    @property
    def shared(self) -> NDArray[np.bool_]:
        """(N,) true for ratings of items that another source has rated, too."""
        return self.by_item()[self.item_N] > 1


def ratings(found: Iterable[tuple[Hashable, str, float]]) -> Ratings:
    """Ratings from (item, source, value); of several of a source on one item the last counts."""
    items, sources = dict[Hashable, int](), dict[str, int]()
    values = dict[tuple[int, int], float]()
    known = dict[str, int]()
    for item, source, value in found:
        if source not in known:
            known[source] = sources.setdefault(identity(source), len(sources))
        values[items.setdefault(item, len(items)), known[source]] = value
    places = np.array(list(values), dtype=np.int64).reshape(-1, 2)
    numbers = np.fromiter(values.values(), dtype=np.float64, count=len(values))
    return Ratings(tuple(items), tuple(sources), places[:, 0], places[:, 1], numbers)


def of_scores(
    records: Iterable[Feedback], item: Callable[[Feedback], Hashable] = lambda one: one.trajectory_id
) -> Ratings:
    """Ratings in [0, 1] from scores, each by its own scale; others of `records` are ignored."""
    return ratings(
        (item(one), one.source, one.opinion.share) for one in records if isinstance(one.opinion, Score)
    )
