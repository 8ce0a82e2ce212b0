"""Open tables, shared by the requests.

A table's Delta log is read once and then followed; its lock is held while files are named, not while they are
read.
"""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from agentevol.data.stored_episodes import table_of
from agentevol.ui.errors import NotFound
from agentevol.ui.library import Source
from agentgym_store.errors import StoreError
from agentgym_store.location import Place
from agentgym_store.store import Store, Where
from agentgym_store.table.errors import one_error
from agentgym_store.table.where import ALL

_MOST_OPEN = 32


@dataclass(frozen=True)
class Snapshot:
    """The episodes of one version of a table."""

    place: Place
    version: int
    frame: pl.LazyFrame
    """One row for each episode that the filter selects, without turns."""
    files: tuple[str, ...]
    """Files that may hold one, in order of appending."""

    @property
    def name(self) -> tuple[str, int]:
        """Identity of the version, for caches."""
        return self.place.name, self.version


class Tables:
    """Open tables by place."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: OrderedDict[str, tuple[Store, threading.Lock]] = OrderedDict()

    def snapshot(self, source: Source, where: Where = ALL) -> Snapshot:
        """The newest version of a source's table. Raises `NotFound` where there is none, `StoreError`."""
        with self.opened(source) as store:
            files = store.files(where)[0]
            return Snapshot(store.place, store.version(), store.scan(where), tuple(files))

    @contextmanager
    def opened(self, source: Source) -> Iterator[Store]:
        """The table of a source, for this request alone. Raises `NotFound` where there is none."""
        store, lock = self._opened(location_of(source))
        try:
            with lock:
                yield store
        except StoreError:
            with self._lock:
                self._open.pop(store.place.name, None)
            raise

    def _opened(self, location: Path | str) -> tuple[Store, threading.Lock]:
        name = Place.of(location).name
        with self._lock:
            if name not in self._open:
                self._open[name] = (Store.open(location, create=False), threading.Lock())
                while len(self._open) > _MOST_OPEN:
                    self._open.popitem(last=False)
            self._open.move_to_end(name)
            return self._open[name]


def collected(frame: pl.LazyFrame) -> pl.DataFrame:
    """The rows of a query; raises `StoreError` where a file cannot be read."""
    with one_error("cannot read the table of trajectories"):
        return frame.collect()


def location_of(source: Source) -> Path | str:
    """Location of a source's table of trajectories. Raises `NotFound` for a run that has none yet."""
    if not source.is_run or not isinstance(source.place, Path):
        return source.place
    found = table_of(source.place)
    if found is None:
        raise NotFound(
            f"The run {source.name} has no episodes yet.",
            "They appear here as soon as the first ones have ended. Load this page again.",
        )
    return found
