"""Memory-mapped search index of a catalogue on disk, with the formula of `bm25`."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.search.bm25 import MOST, idf
from agentgym_envs.search.keys import Keys
from agentgym_envs.search.ranking import Term, best


@dataclass(frozen=True, eq=False)
class StoredIndex:
    """Postings of D documents with V terms; a document is its index among the ids in ascending order."""

    terms: Keys
    begins: NDArray[np.int64]
    """(V + 1,) term t has the postings [begins[t], begins[t + 1])."""
    documents: NDArray[np.int32]
    """(P,) ascending within a term."""
    counts: NDArray[Any]
    """(P,) of the smallest unsigned type that fits."""
    peaks: NDArray[np.float32]
    """(V,) maximum over a term's documents of count times saturation."""
    saturation: NDArray[np.float32]
    """(D,) c(d)."""
    whole: int
    """Number of documents with terms."""

    @classmethod
    def of(cls, array: Callable[[str], NDArray[Any]]) -> "StoredIndex":
        """Index over the arrays with the names of `building`."""
        return cls(
            Keys(array("terms.blob"), array("terms.begins")),
            array("postings.begins"),
            array("postings.documents"),
            array("postings.counts"),
            array("postings.peaks"),
            array("saturation"),
            int(array("whole")[0]),
        )

    def search(self, text: str, most: int = MOST) -> list[tuple[int, float]]:
        """(document, score) of the best, best first; equal scores in the order of documents."""
        found = [self._term(name, count) for name, count in Counter(analyzed(text)).items()]
        documents, scores = best([term for term in found if term], self.saturation, most)
        return list(zip(documents.tolist(), scores.tolist(), strict=True))

    def _term(self, name: str, count: int) -> Term | None:
        place = self.terms.find(name)
        if place is None:
            return None
        begin, end = int(self.begins[place]), int(self.begins[place + 1])
        weight = idf(self.whole, end - begin) * np.float32(count)
        return Term(self.documents[begin:end], self.counts[begin:end], weight, self.peaks[place])
