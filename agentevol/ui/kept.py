"""Results that are kept between requests: the most recently used ones."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

ValueT = TypeVar("ValueT")


class Kept(Generic[ValueT]):
    """Cache of at most `most` values by name. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, threading.Lock()
        self._values: OrderedDict[Hashable, ValueT] = OrderedDict()

    def get(self, name: Hashable, make: Callable[[], ValueT]) -> ValueT:
        """The value of a name; `make` is called if there is none, and nothing is kept if it raises."""
        with self._lock:
            if name in self._values:
                self._values.move_to_end(name)
                return self._values[name]
        made = make()
        with self._lock:
            kept = self._values.setdefault(name, made)  # another request may have been faster
            while len(self._values) > self._most:
                self._values.popitem(last=False)
            return kept

    def drop(self, name: Hashable) -> None:
        """Remove a value, if it is there."""
        with self._lock:
            self._values.pop(name, None)
