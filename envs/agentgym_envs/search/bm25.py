"""BM25 index with Lucene's arithmetic: float32, and the length of a document in one byte (SmallFloat's
`intToByte4`), which most first pages depend on.

score(d) = sum over terms of w - w / (1 + tf * c(d)),  w = idf * (how often the query has the term),
c(d) = 1 / (k1 * ((1 - b) + b * length(d) / average length)),  idf = ln(1 + (N - n + 0.5) / (n + 0.5))
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.analyzer import analyzed

K1, B = np.float32(0.9), np.float32(0.4)
MOST = 50
"""Maximum number of hits of a search."""


@dataclass(frozen=True, eq=False)
class Index:
    """Postings of D documents with V terms, the documents in the order of their ids, which breaks ties."""

    ids: tuple[str, ...]
    """(D,) ascending."""
    terms: dict[str, int]
    begins: NDArray[np.int64]
    """(V + 1,) term t has the postings [begins[t], begins[t + 1])."""
    documents: NDArray[np.int32]
    """(P,) ascending within a term."""
    counts: NDArray[np.float32]
    """(P,) how often the term is in the document."""
    saturation: NDArray[np.float32]
    """(D,) c(d)."""

    @classmethod
    def of(cls, texts: dict[str, str]) -> "Index":
        """Index of documents by their ids."""
        ids = tuple(sorted(texts))
        found: dict[str, list[tuple[int, int]]] = {}
        lengths = np.zeros(len(ids), np.int64)
        for document, name in enumerate(ids):
            terms = analyzed(texts[name])
            lengths[document] = len(terms)
            for term, count in Counter(terms).items():
                found.setdefault(term, []).append((document, count))
        postings = [posting for term in found.values() for posting in term]
        sizes = [len(term) for term in found.values()]
        table: NDArray[Any] = np.array(postings, np.int64).reshape(-1, 2)
        return cls(
            ids,
            {term: place for place, term in enumerate(found)},
            np.concatenate(([0], np.cumsum(sizes, dtype=np.int64))),
            table[:, 0].astype(np.int32),
            table[:, 1].astype(np.float32),
            saturation(lengths),
        )

    def search(self, text: str, most: int = MOST) -> list[tuple[str, float]]:
        """(id, score) of the best documents, best first; equal scores in the order of ids."""
        return self.best(analyzed(text), most)

    def best(self, terms: Sequence[str], most: int = MOST) -> list[tuple[str, float]]:
        """As `search`, with analysed terms."""
        sums = np.zeros(len(self.ids), np.float64)
        whole = int((self.saturation > 0).sum())
        for term, count in Counter(terms).items():
            if term in self.terms:
                place = self.terms[term]
                postings = slice(self.begins[place], self.begins[place + 1])
                weight = idf(whole, postings.stop - postings.start) * np.float32(count)
                self._add(sums, postings, weight)
        scores = sums.astype(np.float32)
        hits = np.flatnonzero(scores > 0)
        order = hits[np.argsort(-scores[hits], kind="stable")][:most]
        return [(self.ids[document], float(scores[document])) for document in order]

    def _add(self, sums: NDArray[np.float64], postings: slice, weight: np.float32) -> None:
        documents = self.documents[postings]
        one = np.float32(1)
        sums[documents] += weight - weight / (one + self.counts[postings] * self.saturation[documents])


def decoded_length(length: int) -> int:
    """A length after encoding in one byte: exact up to 40, then with four bits.

    >>> [decoded_length(length) for length in (40, 41, 55, 57, 60, 107, 200, 1000)]
    [40, 40, 54, 56, 60, 104, 200, 984]
    """
    if length < 24 + 8:
        return length
    rest = length - 24
    shift = rest.bit_length() - 4
    return 24 + ((((rest >> shift) & 7) | 8) << shift)


def idf(documents: int, having: int) -> np.float32:
    """Inverse document frequency of a term in `having` of all documents."""
    return np.float32(np.log(1 + (documents - having + 0.5) / (having + 0.5)))


def saturation(lengths: NDArray[np.int64]) -> NDArray[np.float32]:
    """c(d) of every document; 0 for those without terms, which do not count."""
    there = lengths > 0
    average = np.float32(lengths.sum() / max(1, there.sum()))
    different, which = np.unique(lengths, return_inverse=True)
    decoded = np.array([decoded_length(int(length)) for length in different], np.float32)[which]
    one = np.float32(1)
    found = one / (K1 * ((one - B) + B * decoded / (average or one)))
    return np.where(there, found, np.float32(0)).astype(np.float32)
