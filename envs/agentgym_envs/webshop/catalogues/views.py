"""Lazy views of products, ids and goals of a catalogue on disk, decoded on access."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import overload

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.keys import Groups
from agentgym_envs.webshop.catalogues.records import Records, product_of, wish_of
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.wishes import Wish

KEPT = 1024
"""Number of decoded products in the cache: about 5 MB."""


class Products(Mapping[str, Product]):
    """Products by id, in the order of their file."""

    def __init__(self, records: Records, place: Callable[[str], int], asin: Callable[[int], str]) -> None:
        self._records, self._place, self._asin = records, place, asin
        self._read = lru_cache(maxsize=KEPT)(partial(_product, records))

    def __getitem__(self, asin: str) -> Product:
        return self._read(self._place(asin))

    def __len__(self) -> int:
        return len(self._records)

    def __iter__(self) -> Iterator[str]:
        return map(self._asin, range(len(self)))


class Ids(Sequence[str]):
    """Ids of the products at some places: a category may have hundreds of thousands, of which ten are
    shown.
    """

    def __init__(self, places: NDArray[np.int32], asin: Callable[[int], str]) -> None:
        self._places, self._asin = places, asin

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...

    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return [self._asin(int(place)) for place in self._places[index]]
        return self._asin(int(self._places[index]))


class Wishes(Sequence[Wish]):
    """Goals of a set in their order."""

    def __init__(self, records: Records, ids: Groups, splits: Groups) -> None:
        self._records, self._ids, self._splits = records, ids, splits

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Wish: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Wish]: ...

    def __getitem__(self, index: int | slice) -> Wish | Sequence[Wish]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [wish_of(self._records.read(place)) for place in places]
        return wish_of(self._records.read(places))

    def find(self, name: str) -> int:
        """The place of the goal with an id; raises `LookupError`."""
        found = self._ids.of(name)
        if not len(found):
            raise LookupError(f"there is no goal {name!r}")
        return int(found[0])

    @cached_property
    def splits(self) -> dict[str, NDArray[np.int32]]:
        """Places of each split's goals, ascending."""
        keys = self._splits.keys
        return {keys.text(place): self._splits.at(place) for place in range(len(keys))}


def _product(records: Records, place: int) -> Product:
    return product_of(records.read(place))
