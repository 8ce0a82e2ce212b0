"""Index builder in bounded memory: terms of each text as a stream, then postings by a counting sort."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.search.bm25 import saturation
from agentgym_envs.search.flat import Files
from agentgym_envs.search.keys import bounds, encoded

_BLOCK = 1 << 21
"""Number of postings sorted at a time."""


@dataclass(frozen=True, eq=False)
class Analysis:
    """Terms of some texts."""

    names: list[str]
    """All terms, once each."""
    sizes: list[int]
    """Number of distinct terms of each text."""
    lengths: list[int]
    """Number of terms of each text."""
    terms: NDArray[np.int32]
    """Text after text: indices into `names`."""
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Analysis":
        """Analysis of texts in their order."""
        places: dict[str, int] = {}
        sizes, lengths, terms, counts = list[int](), list[int](), list[int](), list[int]()
        for text in texts:
            found = Counter(analyzed(text))
            sizes.append(len(found))
            lengths.append(found.total())
            terms += [places.setdefault(term, len(places)) for term in found]
            counts += found.values()
        return cls(list(places), sizes, lengths, np.array(terms, np.int32), np.array(counts, np.int32))


class Builder:
    """Builder that takes analyses of texts in the order of their file, and writes the arrays of
    `StoredIndex`.
    """

    def __init__(self, scratch: Path) -> None:
        self._scratch = Files(scratch)
        self._folder = scratch
        self._places: dict[str, int] = {}
        self._sizes: list[NDArray[np.int32]] = []
        self._lengths: list[NDArray[np.int64]] = []
        self._largest = 0

    def add(self, analysis: Analysis) -> None:
        """Add the next texts."""
        places = self._places
        known = np.array([places.setdefault(name, len(places)) for name in analysis.names], np.int32)
        self._scratch.add("terms", known[analysis.terms] if len(known) else analysis.terms)
        self._scratch.add("counts", analysis.counts)
        self._sizes.append(np.array(analysis.sizes, np.int32))
        self._lengths.append(np.array(analysis.lengths, np.int64))
        self._largest = max(self._largest, int(analysis.counts.max(initial=0)))

    def finish(self, files: Files, order: NDArray[np.int32]) -> None:
        """Write the arrays; `order` has the texts' places in their file, by ascending id."""
        self._scratch.finish()
        names = [encoded(name) for name in self._places]
        ascending = sorted(range(len(names)), key=names.__getitem__)
        rank = np.empty(len(names), np.int32)
        rank[ascending] = np.arange(len(names), dtype=np.int32)
        files.add("terms.blob", np.zeros(0, np.uint8))
        for begin in range(0, len(ascending), 1 << 16):
            piece = b"".join(names[place] for place in ascending[begin : begin + (1 << 16)])
            files.add("terms.blob", np.frombuffer(piece, np.uint8))
        files.add("terms.begins", bounds(len(names[place]) for place in ascending))
        lengths = np.concatenate(self._lengths)[order]
        files.add("saturation", saturation(lengths))
        files.add("whole", np.array([(lengths > 0).sum()], np.int64))
        self._write_postings(files, rank, order, saturation(lengths))

    def _write_postings(
        self, files: Files, rank: NDArray[np.int32], order: NDArray[np.int32], saturated: NDArray[np.float32]
    ) -> None:
        ends = bounds(size for piece in self._sizes for size in piece.tolist())
        terms, counts = self._mapped("terms"), self._mapped("counts")
        sizes = np.zeros(len(rank), np.int64)
        for begin in range(0, len(terms), _BLOCK):
            sizes += np.bincount(rank[terms[begin : begin + _BLOCK]], minlength=len(rank))
        begins = bounds(sizes.tolist())
        files.add("postings.begins", begins)
        documents_of = files.placed("postings.documents", np.int32, len(terms))
        counts_of = files.placed("postings.counts", np.min_scalar_type(self._largest), len(terms))
        peaks = np.zeros(len(rank), np.float32)
        free = begins[:-1].copy()
        for first, last in _blocks(ends, order):
            places = _runs(ends[order[first:last]], ends[order[first:last] + 1])
            document = np.repeat(np.arange(first, last, dtype=np.int32), np.diff(ends)[order[first:last]])
            term, count = rank[terms[places]], counts[places]
            np.maximum.at(peaks, term, count.astype(np.float32) * saturated[document])
            by_term = np.argsort(term, kind="stable")
            each, starts, many = np.unique(term[by_term], return_index=True, return_counts=True)
            at = np.repeat(free[each] - starts, many) + np.arange(len(term))
            documents_of[at], counts_of[at] = document[by_term], count[by_term]
            free[each] += many
        files.add("postings.peaks", peaks)

    def _mapped(self, name: str) -> NDArray[np.int32]:
        path = self._folder / name
        return np.memmap(path, "<i4", "r") if path.stat().st_size else np.zeros(0, np.int32)


def _blocks(ends: NDArray[np.int64], order: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Ranges of documents that have about `_BLOCK` postings each."""
    total = np.cumsum(np.diff(ends)[order])
    first = 0
    while first < len(order):
        before = int(total[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(total, before + _BLOCK, side="right")))
        yield first, last
        first = last


def _runs(begins: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """Concatenated indices of several ranges."""
    sizes = ends - begins
    return np.repeat(begins - bounds(sizes)[:-1], sizes) + np.arange(int(sizes.sum()))
