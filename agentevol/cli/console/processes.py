"""Work on several items at a time, in processes of their own."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")
ValueT = TypeVar("ValueT")


def mapped(function: Callable[[ItemT], ValueT], items: Sequence[ItemT], jobs: int) -> Iterator[ValueT]:
    """Values in the order of the items, each as soon as it is there; in this process for one at a time."""
    if jobs == 1 or len(items) == 1:
        yield from map(function, items)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        yield from pool.map(function, items)
