"""Sorted string dictionary in one memory-mapped blob."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Keys:
    """K distinct texts."""

    blob: NDArray[np.uint8]
    begins: NDArray[np.int64]
    """(K + 1,) text k is [begins[k], begins[k + 1]) of the blob, in UTF-8."""

    def __len__(self) -> int:
        return len(self.begins) - 1

    def text(self, place: int) -> str:
        """The text at a place."""
        return decoded(self._bytes(place))

    def find(self, text: str) -> int | None:
        """The place of a text, or None."""
        wanted = encoded(text)
        place = bisect_left(range(len(self)), wanted, key=self._bytes)
        return place if place < len(self) and self._bytes(place) == wanted else None

    def _bytes(self, place: int) -> bytes:
        return bytes(self._view[self.begins.item(place) : self.begins.item(place + 1)])

    @cached_property
    def _view(self) -> memoryview:
        return self.blob.data


@dataclass(frozen=True, eq=False)
class Groups:
    """Index from a text to the ascending places of its items."""

    keys: Keys
    begins: NDArray[np.int64]
    """(K + 1,) text k has the members [begins[k], begins[k + 1])."""
    members: NDArray[np.int32]

    def of(self, text: str) -> NDArray[np.int32]:
        """The places of a text; empty for an unknown one."""
        place = self.keys.find(text)
        return self.members[:0] if place is None else self.at(place)

    def at(self, place: int) -> NDArray[np.int32]:
        """As `of`, by the place of the key."""
        return self.members[self.begins[place] : self.begins[place + 1]]


def encoded(text: str) -> bytes:
    """The text in UTF-8, whose order is that of characters; a lone surrogate, which JSON can contain, is
    kept.
    """
    return text.encode("utf-8", "surrogatepass")


def decoded(data: bytes) -> str:
    """The text of `encoded`."""
    return data.decode("utf-8", "surrogatepass")


def bounds(sizes: Iterable[int]) -> NDArray[np.int64]:
    """Start of each of several pieces, and the end of the last."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(np.fromiter(sizes, np.int64))))


def grouped(
    names: Sequence[bytes], codes: NDArray[Any]
) -> tuple[list[bytes], NDArray[np.int64], NDArray[np.int32]]:
    """Keys, begins and members of groups; `codes` are indices into `names`, each of which occurs."""
    ascending = sorted(range(len(names)), key=names.__getitem__)
    rank = np.empty(len(names), np.int64)
    rank[ascending] = np.arange(len(names))
    ranks = rank[codes] if len(codes) else np.zeros(0, np.int64)
    sizes = np.bincount(ranks, minlength=len(names))
    members = np.argsort(ranks, kind="stable").astype(np.int32)
    return [names[place] for place in ascending], bounds(sizes), members
