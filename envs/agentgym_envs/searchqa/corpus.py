"""Corpora: passages behind a retriever."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.bm25 import Index
from agentgym_envs.searchqa.records import Passage, SearchQAError

BLOCK = 1 << 16
"""Vectors that are compared at a time."""


class Retriever(Protocol):
    """Search by text."""

    def search(self, text: str, most: int) -> list[tuple[int, float]]:
        """(passage, score) of the best, best first; equal scores in the order of passages."""
        ...


@dataclass(frozen=True, eq=False)
class Corpus:
    """Passages that can be searched."""

    passages: Sequence[Passage]
    retriever: Retriever

    def search(self, query: str, most: int) -> list[Passage]:
        """The best passages for a query; none for an empty one."""
        return [self.passages[place] for place, _ in self.retriever.search(query, most)]


class BM25:
    """Exact BM25 over passages in memory; a title is a part of its passage's text."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        width = len(str(len(passages)))
        self._index = Index.of({f"{at:0{width}}": searched(one) for at, one in enumerate(passages)})

    def search(self, text: str, most: int) -> list[tuple[int, float]]:
        """As `Retriever` has it."""
        return [(int(name), score) for name, score in self._index.search(text, most)]


class Dense:
    """Exact search by inner product with a vector of each passage."""

    def __init__(self, vectors: NDArray[Any], embed: Callable[[str], NDArray[Any]]) -> None:
        """`vectors`: (passages, D), in memory or memory-mapped; `embed` gives the (D,) vector of a query."""
        if vectors.ndim != 2:
            raise SearchQAError(f"vectors have {vectors.ndim} axes, not 2: passages and dimensions")
        self._vectors, self._embed = vectors, embed

    def search(self, text: str, most: int) -> list[tuple[int, float]]:
        """As `Retriever` has it."""
        if not text.strip():
            return []
        query = np.asarray(self._embed(text), np.float32)
        if query.shape != self._vectors.shape[1:]:
            shape = query.shape
            raise SearchQAError(f"a query's vector has the shape {shape}, not {self._vectors.shape[1:]}")
        blocks = range(0, len(self._vectors), BLOCK)
        scores = [np.asarray(self._vectors[at : at + BLOCK], np.float32) @ query for at in blocks]
        whole = np.concatenate(scores) if scores else np.zeros(0, np.float32)
        order = np.argsort(-whole, kind="stable")[:most]
        return [(int(place), float(whole[place])) for place in order]


def searched(passage: Passage) -> str:
    """Text of a passage that is indexed."""
    return f"{passage.title}\n{passage.text}"
