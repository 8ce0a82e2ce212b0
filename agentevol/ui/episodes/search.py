"""Search in the turns of episodes: by text, and by thinking mode.

There is no index: the texts of the episodes are read, the newest first, column by column. A search is bounded
in time; what it has found by then is shown, and it goes on where it stopped when its page is asked for again.
"""

import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from agentevol.ui.episodes.filters import Filters
from agentevol.ui.kept import Kept
from agentevol.ui.tables import Snapshot
from agentgym_store.arrow import compute
from agentgym_store.table.errors import one_error
from agentgym_store.table.reading import read

_BATCH = 512
"""Episodes between two looks at the clock."""
_MOST_KEPT = 16
_TEXTS = ("action", "observation", "sample.text")


class Search:
    """One search of one version of a table."""

    def __init__(self, filters: Filters, batches: Iterator[Any]) -> None:
        self._filters, self._batches = filters, batches
        self._lock = threading.Lock()
        self.ids: set[str] = set()
        """Episodes found so far."""
        self.seen = 0
        """Episodes looked at, of those that the other filters leave."""
        self.is_complete = False

    def advance(self, seconds: float) -> None:
        """Search on, for about this time. Raises `StoreError`."""
        end = time.monotonic() + seconds
        with self._lock, one_error("cannot search the table of trajectories"):
            while not self.is_complete:
                batch = next(self._batches, None)
                if batch is None:
                    self.is_complete = True
                    return
                self.ids.update(matches(batch, self._filters))
                self.seen += batch.num_rows
                if time.monotonic() >= end:
                    return


class Searches:
    """The latest searches, to go on with and to page through."""

    def __init__(self) -> None:
        self._kept: Kept[Search] = Kept(_MOST_KEPT)

    def find(self, snapshot: Snapshot, filters: Filters) -> Search:
        """The search of these filters in this version, begun or new."""
        name = (*snapshot.name, tuple(sorted(filters.active().items())))
        return self._kept.get(name, lambda: Search(filters, _batches(snapshot, filters)))


def matches(batch: Any, filters: Filters) -> list[str]:
    """Ids of the episodes of a batch whose turns match; text and mode may be in different turns."""
    kept = set(range(batch.num_rows))
    turns = compute.list_flatten(batch.column("turns"))
    parents = compute.list_parent_indices(batch.column("turns"))
    if filters.q:
        kept &= _with_text(batch, turns, parents, filters.q)
    if filters.mode is not None:
        kept &= _with_mode(turns, parents, filters.mode)
    ids = batch.column("id")
    return [ids[row].as_py() for row in sorted(kept)]


def _with_text(batch: Any, turns: Any, parents: Any, text: str) -> set[int]:
    found: set[int] = set()
    for name in ("instruction", "initial_observation"):
        found.update(compute.indices_nonzero(_contains(batch.column(name), text)).to_pylist())
    for name in _TEXTS:
        values = _member(turns, name)
        if values is not None:
            found.update(compute.unique(parents.filter(_contains(values, text))).to_pylist())
    return found


def _contains(values: Any, text: str) -> Any:
    return compute.fill_null(compute.match_substring(values, text, ignore_case=True), False)


def _with_mode(turns: Any, parents: Any, mode: int) -> set[int]:
    infos = _member(turns, "info")
    if infos is None:
        return set()
    told = (
        pl.Series(infos.to_pylist(), dtype=pl.String)
        .str.json_path_match("$.mode")
        .cast(pl.Int64, strict=False)
    )
    places = (told == mode).fill_null(False).arg_true().to_list()
    return set(parents.take(places).to_pylist()) if places else set()


def _member(structs: Any, path: str) -> Any:
    """A field of the turns; None where the file has none."""
    for name in path.split("."):
        if structs.type.get_field_index(name) < 0:
            return None
        structs = compute.struct_field(structs, name)
    return structs


def _batches(snapshot: Snapshot, filters: Filters) -> Iterator[Any]:
    fields = [*(_TEXTS if filters.q else ()), *(("info",) if filters.mode is not None else ())]
    plain = ["id", *(("instruction", "initial_observation") if filters.q else ())]
    columns: Sequence[str] = [*plain, *(f"turns.list.element.{name}" for name in fields)]
    for file in reversed(snapshot.files):
        yield from read([file], snapshot.place, columns, filters.where(), _BATCH)
