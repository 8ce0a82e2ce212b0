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
_ONE = np.float32(1)

Hits = tuple[NDArray[np.int64], NDArray[np.float32]]
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

    def added(self, saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """(P,) to the score of each of its documents."""
        return _added(self.weight, self.counts, saturation[self.documents])

    def added_to(self, documents: NDArray[Any], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
        """To the score of each of some other documents, in ascending order."""
        places = np.searchsorted(self.documents, documents.astype(np.int32))
        places[places == len(self.documents)] = 0
        having = self.documents[places] == documents
        found = np.zeros(len(documents), np.float32)
        there = places[having]
        found[having] = _added(self.weight, self.counts[there], saturation[documents[having]])
        return found


def best(terms: Sequence[Term], saturation: NDArray[np.float32], most: int) -> Hits:
    """Documents with a score above 0, equal scores in ascending order; `terms` in the order of the query."""
    if len(saturation) <= PLAIN:
        sums = np.zeros(len(saturation), np.float64)
        for term in terms:
            sums[term.documents] += term.added(saturation)
        return top(np.arange(len(sums)), sums, most)
    documents = _candidates(terms, saturation, most)
    sums = np.zeros(len(documents), np.float64)
    for term in terms:
        sums += term.added_to(documents, saturation)
    return top(documents, sums, most)


def top(documents: NDArray[Any], sums: NDArray[np.float64], most: int) -> Hits:
    """Of documents in ascending order."""
    scores = sums.astype(np.float32)
    hits = np.flatnonzero(scores > 0)
    if len(hits) > most:
        hits = hits[scores[hits] >= _worst(scores[hits], most)]
    order = hits[np.argsort(-scores[hits], kind="stable")][:most]
    return documents[order], scores[order]


def _candidates(terms: Sequence[Term], saturation: NDArray[np.float32], most: int) -> NDArray[np.int64]:
    """All documents that may be among the best, ascending."""
    order = sorted(terms, key=lambda term: -term.bound)
    bounds = [0.0, *accumulate(term.bound for term in reversed(order))]
    rests = list(reversed(bounds))[1:]  # after each: what all later ones add at most
    sums = np.zeros(len(saturation), np.float64)
    worst, done = 0.0, 0
    for term, rest in zip(order, rests, strict=True):
        sums[term.documents] += term.added(saturation)
        done += 1
        worst = max(worst, _worst(sums[term.documents], most))
        if rest < worst * _NEARLY:
            break
    rest = rests[done - 1] if order else 0.0
    found = np.flatnonzero(sums >= max(worst * _NEARLY - rest, np.finfo(float).tiny))
    kept = sums[found]
    for term, rest in zip(order[done:], rests[done:], strict=True):
        kept = kept + term.added_to(found, saturation)
        there = kept >= _worst(kept, most) * _NEARLY - rest
        found, kept = found[there], kept[there]
    return found


def _worst(sums: NDArray[Any], most: int) -> float:
    """The last of the best so many; 0 where there are fewer."""
    return float(np.partition(sums, len(sums) - most)[len(sums) - most]) if len(sums) >= most else 0.0


def _added(weight: np.float32, counts: NDArray[Any], saturation: NDArray[np.float32]) -> NDArray[np.float32]:
    return weight - weight / (_ONE + counts.astype(np.float32) * saturation)
