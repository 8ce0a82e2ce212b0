"""`Store`: one Delta Lake table of episodes.

    store = Store.open(Path("runs/a/trajectories"))
    version = store.append(explored, commit={"run": "a", "iteration": "3", "stage": "explore"})
    store.committed(run="a", iteration="3", stage="explore")            # -> version: this batch is in
    store.scan().group_by("iteration", "ending").len().collect()         # any of polars' queries
    list(store.trajectories(Where(iteration=3, ending="terminated")))    # token-exact, in order of appending

Underneath are Parquet files and a log (`_delta_log`): polars, DuckDB, pandas and Spark read the folder
directly. An append is one entry of the log: readers see none of a batch before the entry exists, and all of
it afterwards. That holds in object stores too: `Store.open("s3://bucket/runs/a")`, see `places`.
"""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import polars as pl
from deltalake import CommitProperties, DeltaTable, Schema, Transaction

from agentgym_store.arrow import EPISODE_COLUMNS, FORMAT, SCHEMA, pa
from agentgym_store.errors import StoreError
from agentgym_store.location import Place
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch
from agentgym_store.table.commits import committed
from agentgym_store.table.errors import one_error
from agentgym_store.table.formats import check_format, create_table, renew_format
from agentgym_store.table.frames import frame_of
from agentgym_store.table.log import PRUNED, Log, add_action
from agentgym_store.table.parquet_files import write_episodes
from agentgym_store.table.reading import completed, read
from agentgym_store.table.turns import turn_frames
from agentgym_store.table.where import ALL, Where

ReadT = TypeVar("ReadT")

_COMMIT_PREFIX = "agentevol."
_READ_EPISODES = 512


class Store:
    """Table of episodes. Several processes may append, and any number may read."""

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        """Open the table in a folder or at a URL, created if absent unless `create` is False.

        Raises `StoreError`.
        """
        self.place = Place.of(path)
        self._commits: dict[frozenset[tuple[str, str]], int] = {}
        self._seen = -1
        self._newest: tuple[int, Log] | None = None
        with self._errors("open"):
            self._table = self._opened(create)
            check_format(self._table, self.place)

    @classmethod
    def open(cls, path: Path | str, *, create: bool = True) -> "Store":
        """The same as `Store(path, create=create)`."""
        return cls(path, create=create)

    @classmethod
    def exists(cls, path: Path | str) -> bool:
        """True if a Delta table is there; raises `StoreError` if that cannot be determined."""
        place = Place.of(path)
        with one_error(f"cannot look for a table of trajectories at {place}"):
            return place.holds_table()

    def version(self) -> int:
        """The newest version of the table: 0 at creation, then one more with every append.

        The first append to a table of an older format also creates versions.
        """
        with self._errors("read"):
            self._table.update_incremental()
            return self._table.version()

    def count(self, version: int | None = None) -> int:
        """Number of episodes of the table (or an older version of it); reads no episode."""
        with self._errors("read"):
            actions = pa.table(self._at(version).get_add_actions(flatten=True))
            return sum(actions.column("num_records").to_pylist())

    def committed(self, **commit: str) -> int | None:
        """The version of the batch with exactly this key; None if it is not in the table."""
        with self._errors("read"):
            self._read_new_commits()
        return self._commits.get(frozenset(commit.items()))

    def append(self, trajectories: Sequence[Trajectory], *, commit: Mapping[str, str]) -> int:
        """Add a batch, all or nothing, and return the table's version with it; raises `StoreError`.

        `commit` names the batch (run, iteration, stage, ...). An existing key is not appended again: its
        version is returned. An empty batch is recorded too, so that a resumed run knows of it.
        """
        if not commit:
            raise ValueError("a commit needs a key, for example {'run': 'a', 'iteration': '1'}")
        _refuse_repeated_ids(trajectories)
        done = self.committed(**commit)
        if done is not None:
            return done
        with self._errors("write"):
            renew_format(self._table)
        file = f"{self._table.version() + 1:020d}-{uuid4().hex}.parquet"
        self._write(trajectories, file)
        self._commit(file, trajectories, commit)
        version = self.committed(**commit)
        if version is None:
            raise StoreError(
                f"{self.place}: the batch {dict(commit)} was written but is not in the table's log"
            )
        return version

    def scan(self, where: Where = ALL, *, version: int | None = None) -> pl.LazyFrame:
        """One row per episode without the nested turns (`EPISODE_COLUMNS`), in order of appending.

        Errors of a file are raised at `collect`, as a polars error or an `OSError`.
        """
        with self._errors("read"):
            files = [self.place.full(name) for name in self._files(version, where)]
            return _scanned(files).select(EPISODE_COLUMNS).filter(where.polars())

    def files(self, *wheres: Where, version: int | None = None) -> list[list[str]]:
        """For each filter, the names of the Parquet files that may hold a matching episode; reads no episode.

        Files are immutable: equal names hold equal episodes.
        """
        with self._errors("read"):
            log = self._log(version)
            return [log.files(where) for where in wheres]

    def batches(self, file: str, where: Where = ALL) -> Iterator[Any]:
        """The matching rows of one of `files` as `pyarrow.RecordBatch` of `SCHEMA`, in order; equal ones for
        an equal filter.
        """
        return self._checked(lambda: self._batches([file], where, None))

    def trajectories(self, where: Where = ALL, *, version: int | None = None) -> Iterator[Trajectory]:
        """The matching episodes exactly as they were appended, in that order; a few hundred are in memory."""
        return self._each(from_batch, where, version)

    def rows(
        self, columns: Sequence[str], where: Where = ALL, *, version: int | None = None
    ) -> Iterator[tuple[Any, ...]]:
        """Some of `EPISODE_COLUMNS` of the matching episodes, in order of appending; a few hundred rows are
        in memory, and other columns are not read.
        """
        return self._each(_tuples, where, version, list(columns))

    def frames(
        self, columns: Sequence[str], where: Where = ALL, *, version: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """The same as `rows`, as frames of a few hundred rows."""
        return self._each(_frames, where, version, list(columns))

    def turns(
        self, columns: Collection[str], where: Where = ALL, *, version: int | None = None
    ) -> Iterator[pl.DataFrame]:
        """Some of `table.turns.TURN_COLUMNS` of the turns of the matching episodes, a row each, in order of
        appending; the turns of about a thousand episodes are in memory, and other columns are not read.
        """
        return self._checked(lambda: turn_frames(self._files(version, where), self.place, columns, where))

    def _each(
        self,
        read: Callable[[Any], Sequence[ReadT]],
        where: Where,
        version: int | None,
        columns: list[str] | None = None,
    ) -> Iterator[ReadT]:
        """Results of `read` for each batch, one by one; `columns` None: all."""
        found = self._checked(lambda: map(read, self._batches(self._files(version, where), where, columns)))
        return chain.from_iterable(found)

    def _checked(self, start: Callable[[], Iterator[ReadT]]) -> Iterator[ReadT]:
        """Elements of an iterator, with its errors as `StoreError`; it is started with the first element."""
        with self._errors("read"):
            found = start()
        while True:
            with self._errors("read"):
                try:
                    one = next(found)
                except StopIteration:
                    return
            yield one

    def _opened(self, create: bool) -> DeltaTable:
        place = self.place
        if place.holds_table():
            return DeltaTable(place.name)
        if not create:
            raise StoreError(
                f"there is no table of trajectories at {place}; name the folder of a run, or a table's folder"
                " or URL"
            )
        # a log without entries remains of a process that was killed while it created the table
        if set(place.names()) - {"_delta_log"}:
            raise StoreError(f"{place} is not a table of trajectories; name a new folder")
        description = "Episodes of language-model agents, one row each, token-exact."
        return create_table(place, SCHEMA, "trajectories", description, FORMAT)

    def _at(self, version: int | None) -> DeltaTable:
        self._table.update_incremental()
        newest = self._table.version()
        if version is None:
            return self._table
        if not 0 <= version <= newest:
            raise StoreError(f"{self.place} has the versions 0 to {newest}, not {version}")
        return DeltaTable(self.place.name, version=version)

    def _batches(self, files: list[str], where: Where, columns: list[str] | None) -> Iterator[Any]:
        names = SCHEMA.names if columns is None else columns
        return (completed(batch, names) for batch in read(files, self.place, columns, where, _READ_EPISODES))

    def _files(self, version: int | None, where: Where = ALL) -> list[str]:
        """The Parquet files of a version that may hold a match, by the statistics in the log; their names
        begin with the version that they made.
        """
        return self._log(version).files(where)

    def _log(self, version: int | None) -> Log:
        """The log's files of a version; those of the newest are kept until there is a newer one."""
        table = self._at(version)
        if version is not None:
            return Log(table)
        newest = table.version()
        if self._newest is None or self._newest[0] != newest:
            self._newest = (newest, Log(table))
        return self._newest[1]

    def _read_new_commits(self) -> None:
        self._table.update_incremental()
        newest = self._table.version()
        if newest == self._seen:
            return
        for entry in self._table.history(newest - self._seen):
            key = {
                name.removeprefix(_COMMIT_PREFIX): str(value)
                for name, value in entry.items()
                if name.startswith(_COMMIT_PREFIX)
            }
            if key:
                self._commits.setdefault(frozenset(key.items()), int(entry["version"]))
        self._seen = newest

    def _write(self, trajectories: Sequence[Trajectory], file: str) -> None:
        """Write the Parquet file of a batch; on any failure, no file is left."""
        if not trajectories:
            return
        try:
            with self._errors("write"):
                write_episodes(trajectories, file, self.place)
        except BaseException:
            self.place.remove(file)
            raise

    def _commit(self, file: str, trajectories: Sequence[Trajectory], commit: Mapping[str, str]) -> None:
        key = json.dumps(sorted(commit.items()))
        properties = CommitProperties(
            custom_metadata={_COMMIT_PREFIX + name: value for name, value in commit.items()},
            # of two processes that append the same key concurrently, one conflicts
            app_transactions=[Transaction(f"agentevol:{sha256(key.encode()).hexdigest()}", 1)],
        )
        try:
            with self._errors("write"):
                actions: list[Any] = []
                if trajectories:
                    size = self.place.size(file)
                    actions.append(add_action(file, size, len(trajectories), _ranges(trajectories)))
                write = partial(
                    self._table.create_write_transaction,
                    *(actions, "append", Schema.from_arrow(SCHEMA)),
                    commit_properties=properties,
                )
                committed(self._table, write)
        except StoreError:
            # a file in the log is in use, whatever was raised; if the log cannot be read, it stays
            if file not in self._files(None):
                self.place.remove(file)
            if self.committed(**commit) is None:
                raise

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return one_error(f"cannot {doing} the table of trajectories {self.place}")


def _tuples(batch: Any) -> list[tuple[Any, ...]]:
    """The rows of a `pyarrow.RecordBatch`."""
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _frames(batch: Any) -> list[pl.DataFrame]:
    """The rows of a `pyarrow.RecordBatch` in one frame."""
    return [frame_of(batch)]


_POLARS_TYPES = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}


def _scanned(files: list[str]) -> pl.LazyFrame:
    """`EPISODE_COLUMNS` of Parquet files; columns that an older file lacks are null."""
    schema = {name: _POLARS_TYPES[str(SCHEMA.field(name).type)] for name in EPISODE_COLUMNS}
    if not files:
        return pl.LazyFrame(schema=schema)
    # not `scan_delta`: it does not find tables in folders whose name has a space
    return pl.scan_parquet(files, glob=False, schema=schema, missing_columns="insert", extra_columns="ignore")


def _refuse_repeated_ids(trajectories: Sequence[Trajectory]) -> None:
    seen: set[str] = set()
    for episode in trajectories:
        if episode.id in seen:
            raise StoreError(f"episode {episode.id!r} is twice in one batch")
        seen.add(episode.id)


def _ranges(trajectories: Sequence[Trajectory]) -> dict[str, tuple[Any, Any]]:
    """Least and greatest value of each column of `PRUNED`."""
    values: dict[str, list[Any]] = {
        name: [getattr(episode, name) for episode in trajectories] for name in PRUNED if name != "ending"
    }
    values["ending"] = [episode.ending.kind for episode in trajectories]
    return {name: (min(column), max(column)) for name, column in values.items()}
