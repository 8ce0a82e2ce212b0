"""The best documents of a search, exactly as adding everything up finds them, with less adding up.

A term adds to no document more than its `bound`. Terms are taken in the order of these; once the worst of the
best hits so far has more than all later terms together could add, only documents met by then are looked at
further (MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). What is left is
added up again, in the order of the query, so that every bit is that of the plain sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = 1 << 14
"""Up to so many documents, adding everything up is as fast."""
_NEARLY = 1 - 1e-6
"""Sums that are closer may be equal in float32, where ids decide."""
_TINY = np.finfo(np.float64).tiny
_FEW = 8
"""Looking a document up in a list takes as long as passing so many of the list's."""
_ONE = np.float32(1)

Hits = tuple[NDArray[np.intp], NDArray[np.float32]]
"""Documents, best first, and their scores."""


@dataclass(frozen=True, eq=False)
class Term:
    """A term of a query, and the P documents that have it."""

    documents: NDArray[np.int32]
    """(P,) ascending."""
    counts: NDArray[Any]
    """(P,) how often each has it."""
    weight: np.float32
    peak: np.float32
    """The largest of its counts, each times the saturation of its document."""

    @property
    def bound(self) -> float:
        """What it adds at most: rounding keeps the order of what it rounds."""
        return float(self.weight - self.weight / (_ONE + self.peak))

    def add(self, sums: NDArray[np.float64], saturation: NDArray[np.float32]) -> NDArray[np.float64]:
        """To the sums of all documents; gives those of its own."""
        places = self.documents.astype(np.intp)
        mine = sums.take(places)
        mine += self._added(self.counts, saturation.take(places))
        sums[places] = mine
        return mine

    def added_to(self, documents: NDArray[np.intp], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """To the score of each of some documents, in ascending order."""
        if len(self.documents) < _FEW * len(documents):
            mine = np.zeros(len(saturation), np.float32)
            places = self.documents.astype(np.intp)
            mine[places] = self._added(self.counts, saturation.take(places))
            return mine.take(documents)
        places = np.searchsorted(self.documents, documents.astype(np.int32))
        places[places == len(self.documents)] = 0
        having = self.documents[places] == documents
        found = np.zeros(len(documents), np.float32)
        found[having] = self._added(self.counts[places[having]], saturation[documents[having]])
        return found

    def _added(self, counts: NDArray[Any], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """w - w / (1 + tf * c(d))."""
        found = counts.astype(np.float32)
        found *= saturation
        found += _ONE
        np.divide(self.weight, found, out=found)
        return np.subtract(self.weight, found, out=found)


def best(terms: Sequence[Term], saturation: NDArray[np.float32], most: int) -> Hits:
    """Documents with a score above 0, equal scores in ascending order; `terms` in the order of the query."""
    if len(saturation) <= PLAIN:
        sums = np.zeros(len(saturation), np.float64)
        for term in terms:
            term.add(sums, saturation)
        return _top(np.arange(len(sums)), sums, most)
    documents = _candidates(terms, saturation, most)
    sums = np.zeros(len(documents), np.float64)
    for term in terms:
        sums += term.added_to(documents, saturation)
    return _top(documents, sums, most)


def _top(documents: NDArray[np.intp], sums: NDArray[np.float64], most: int) -> Hits:
    scores = sums.astype(np.float32)
    hits = np.flatnonzero(scores > 0)
    if len(hits) > most:
        hits = hits[scores[hits] >= _worst(scores[hits], most)]
    order = hits[np.argsort(-scores[hits], kind="stable")][:most]
    return documents[order], scores[order]


def _candidates(terms: Sequence[Term], saturation: NDArray[np.float32], most: int) -> NDArray[np.intp]:
    """All documents that may be among the best, ascending."""
    order = sorted(terms, key=lambda term: -term.bound)
    rests = [0.0, *accumulate(term.bound for term in reversed(order))][-2::-1]
    sums = np.zeros(len(saturation), np.float64)
    worst, done = 0.0, 0
    for term, rest in zip(order, rests, strict=True):  # rest: what all later ones add at most
        mine = term.add(sums, saturation)
        done += 1
        worst = _worst(mine[mine > rest], most)
        if rest < worst * _NEARLY:
            break
    if done == len(order):
        worst = _worst(sums[sums > worst], most) or worst
    found = np.flatnonzero(sums >= max(worst * _NEARLY - (rests[done - 1] if order else 0), _TINY))
    kept = sums.take(found)
    for term, rest in zip(order[done:], rests[done:], strict=True):
        kept += term.added_to(found, saturation)
        there = kept >= _worst(kept, most) * _NEARLY - rest
        found, kept = found[there], kept[there]
    return found


def _worst(sums: NDArray[Any], most: int) -> float:
    """The last of the best so many; 0 where there are fewer."""
    return float(np.partition(sums, len(sums) - most)[len(sums) - most]) if len(sums) >= most else 0.0
