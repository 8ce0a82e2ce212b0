"""Top-k search with the exact results of a full summation (MaxScore), at lower cost.

A term adds to no document more than its `bound`. Terms are processed in this order; once the worst of the
best hits so far exceeds the sum of all later bounds, only documents that have been reached are considered
further (MaxScore: Turtle and Flood, "Query evaluation: strategies and optimizations", 1995). The remaining
scores are summed again in the order of the query, so that every bit equals the plain sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

PLAIN = 1 << 14
"""Maximum number of documents for which the plain sum is as fast."""
_NEARLY = 1e-6
"""Tolerance: closer sums may be equal in float32, where ids decide; float32 sums may be off by this much per
term.
"""
_TINY = float(np.finfo(np.float32).tiny)
_FEW = 16
"""A look-up in a list costs as much as scanning this many of its entries."""
_ONE = np.float32(1)

Hits = tuple[NDArray[np.intp], NDArray[np.float32]]
"""Documents, best first, and their scores."""


@dataclass(frozen=True, eq=False)
class Term:
    """Term of a query, with the P documents that contain it."""

    documents: NDArray[np.int32]
    """(P,) ascending."""
    counts: NDArray[Any]
    """(P,) frequency of the term in each."""
    weight: np.float32
    peak: np.float32
    """Maximum over the documents of count times saturation."""

    @property
    def bound(self) -> float:
        """Upper bound of its contribution: rounding is monotonic."""
        return float(self.weight - self.weight / (_ONE + self.peak))

    def add(self, sums: NDArray[Any], saturation: NDArray[np.float32]) -> NDArray[Any]:
        """Add to the sums of all documents; returns those of its own."""
        places = self.documents.astype(np.intp)
        mine = sums.take(places)
        mine += self._added(self.counts, saturation.take(places))
        sums[places] = mine
        return mine

    def added_to(self, documents: NDArray[np.intp], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """Contribution to each of some documents, in ascending order."""
        if len(self.documents) < _FEW * len(documents):
            counts = np.zeros(len(saturation), self.counts.dtype)
            counts[self.documents.astype(np.intp)] = self.counts
            return self._added(counts.take(documents), saturation.take(documents))
        places = np.searchsorted(self.documents, documents.astype(np.int32))
        places[places == len(self.documents)] = 0
        having = self.documents.take(places) == documents
        return self._added(self.counts.take(places) * having, saturation.take(documents))

    def _added(self, counts: NDArray[Any], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """w - w / (1 + tf * c(d)): 0 for a count of 0."""
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
    """Documents that may be among the best, ascending."""
    order = sorted(terms, key=lambda term: -term.bound)
    rests = [0.0, *accumulate(term.bound for term in reversed(order))][-2::-1]
    nearly = 1 - _NEARLY * (1 + len(order))
    sums = np.zeros(len(saturation), np.float32)
    worst, done = 0.0, 0
    for term, rest in zip(order, rests, strict=True):  # rest: the sum of all later bounds
        mine = term.add(sums, saturation)
        done += 1
        worst = _worst(mine[mine > rest], most)
        if rest < worst * nearly:
            break
    worst = _worst(sums[sums > worst], most) or worst
    found = np.flatnonzero(sums >= max(worst * nearly - (rests[done - 1] if order else 0), _TINY))
    kept = sums.take(found)
    for term, rest in zip(order[done:], rests[done:], strict=True):
        kept += term.added_to(found, saturation)
        worst = _worst(kept[kept > worst], most) or worst
        there = kept >= worst * nearly - rest
        found, kept = found[there], kept[there]
    return found


def _worst(sums: NDArray[Any], most: int) -> float:
    """The score of the last of the best `most`; 0 if there are fewer."""
    return float(np.partition(sums, len(sums) - most)[len(sums) - most]) if len(sums) >= most else 0.0
