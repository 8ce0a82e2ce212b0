"""`LazySequence`: a sequence of known length whose items are made on access."""

from collections.abc import Callable, Sequence
from typing import TypeVar, overload

ItemT = TypeVar("ItemT", covariant=True)


class LazySequence(Sequence[ItemT]):
    """Items 0 to `length` - 1, each made by `make` on every access; a slice is lazy again."""

    def __init__(self, length: int, make: Callable[[int], ItemT]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> ItemT: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[ItemT]: ...

    def __getitem__(self, index: int | slice) -> ItemT | Sequence[ItemT]:
        chosen = range(self._length)[index]
        if isinstance(chosen, int):
            return self._make(chosen)
        return LazySequence(len(chosen), lambda position: self._make(chosen[position]))
