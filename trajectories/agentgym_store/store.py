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
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

import polars as pl
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import DeltaError
from deltalake.transaction import AddAction

from agentgym_store.arrow import (
    EPISODE_COLUMNS,
    FORMAT,
    FORMAT_KEY,
    OLDER_FORMATS,
    OLDER_SCHEMAS,
    SCHEMA,
    dataset,
    pa,
    parquet,
    without_comments,
)
from agentgym_store.errors import StoreError, one_line
from agentgym_store.location import Place
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch, to_batch

ReadT = TypeVar("ReadT")

_COMMIT_PREFIX = "agentevol."
_GROUP_EPISODES = 1024
_GROUP_CHARACTERS = 64 * 2**20  # a column of one row group stays far below Arrow's 2 GiB
_READ_EPISODES = 512
_PRUNED = ("run", "iteration", "purpose", "env", "split", "ending")
"""Columns with value ranges per file, so that queries skip whole files."""


@dataclass(frozen=True)
class Where:
    """Filter of episodes: every filter that is not None must hold."""

    run: str | None = None
    iteration: int | None = None
    purpose: str | None = None
    ending: str | None = None
    env: str | None = None
    split: str | None = None
    kind: str | None = None
    policy: str | None = None
    task_ids: Collection[str] | None = None
    ids: Collection[str] | None = None
    min_reward: float | None = None
    """Minimum return. An episode without a return is in no range."""
    max_reward: float | None = None

    def terms(self) -> Iterator[tuple[str, list[str | int]]]:
        """Columns, and their matching values."""
        for name in ("run", "iteration", "purpose", "ending", "env", "split", "kind", "policy"):
            value = getattr(self, name)
            if value is not None:
                yield name, [value]
        for name, values in (("task_id", self.task_ids), ("id", self.ids)):
            if values is not None:
                yield name, list(values)

    def polars(self) -> pl.Expr:
        """The filter for a polars frame."""
        equal = (pl.col(name).is_in(values) for name, values in self.terms())
        return pl.all_horizontal(pl.lit(True), *equal, *self._bounds(pl.col("total_reward")))

    def arrow(self) -> Any:
        """The filter for a pyarrow dataset; None if everything matches."""
        equal = (
            dataset.field(name).isin(pa.array(values, SCHEMA.field(name).type))
            for name, values in self.terms()
        )
        expression = None
        for term in (*equal, *self._bounds(dataset.field("total_reward"))):
            expression = term if expression is None else expression & term
        return expression

    def _bounds(self, reward: Any) -> Iterator[Any]:
        """Comparisons of the return column, for polars or pyarrow."""
        if self.min_reward is not None:
            yield reward >= self.min_reward
        if self.max_reward is not None:
            yield reward <= self.max_reward


ALL = Where()


class Store:
    """Table of episodes. Several processes may append, and any number may read."""

    def __init__(self, path: Path | str, *, create: bool = True) -> None:
        """Open the table in a folder or at a URL, created if absent unless `create` is False.

        Raises `StoreError`.
        """
        self.place = Place.of(path)
        self._commits: dict[frozenset[tuple[str, str]], int] = {}
        self._seen = -1
        self._newest: tuple[int, _Log] | None = None
        with self._errors("open"):
            self._table = self._opened(create)
            _check_format(self._table, self.place)

    @classmethod
    def open(cls, path: Path | str, *, create: bool = True) -> "Store":
        """The same as `Store(path, create=create)`."""
        return cls(path, create=create)

    @classmethod
    def exists(cls, path: Path | str) -> bool:
        """True if a Delta table is there; raises `StoreError` if that cannot be determined."""
        place = Place.of(path)
        with _one_error(f"cannot look for a table of trajectories at {place}"):
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
        self._renew_schema()
        file = f"{self.version() + 1:020d}-{uuid4().hex}.parquet"
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
        with self._errors("read"):
            batches = self._batches([file], where, None)
        while True:
            with self._errors("read"):
                batch = next(batches, None)
            if batch is None:
                return
            yield batch

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

    def _each(
        self,
        read: Callable[[Any], Sequence[ReadT]],
        where: Where,
        version: int | None,
        columns: list[str] | None = None,
    ) -> Iterator[ReadT]:
        """Results of `read` for each batch, one by one; `columns` None: all."""
        with self._errors("read"):
            batches = self._batches(self._files(version, where), where, columns)
        while True:
            with self._errors("read"):
                batch = next(batches, None)
                found: Sequence[ReadT] = () if batch is None else read(batch)
            if batch is None:
                return
            yield from found

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
        place.make()
        return DeltaTable.create(
            place.name,
            Schema.from_arrow(SCHEMA),
            mode="ignore",
            name="trajectories",
            description="Episodes of language-model agents, one row each, token-exact.",
            # `committed` reads the log, so it is never cleaned up
            configuration={FORMAT_KEY: FORMAT, "delta.enableExpiredLogCleanup": "false"},
            raise_if_key_not_exists=False,
        )

    def _at(self, version: int | None) -> DeltaTable:
        if version is not None:
            return DeltaTable(self.place.name, version=version)
        self._table.update_incremental()
        return self._table

    def _batches(self, files: list[str], where: Where, columns: list[str] | None) -> Iterator[Any]:
        if not files:
            return iter(())
        rows = dataset.dataset(files, schema=SCHEMA, format="parquet", filesystem=self.place.files)
        return rows.to_batches(
            columns=columns,
            filter=where.arrow(),
            batch_size=_READ_EPISODES,
            batch_readahead=1,
            fragment_readahead=1,
        )

    def _files(self, version: int | None, where: Where = ALL) -> list[str]:
        """The Parquet files of a version that may hold a match, by the statistics in the log; their names
        begin with the version that they made.
        """
        return self._log(version).files(where)

    def _log(self, version: int | None) -> "_Log":
        """The log's files of a version; those of the newest are kept until there is a newer one."""
        table = self._at(version)
        if version is not None:
            return _Log(table)
        newest = table.version()
        if self._newest is None or self._newest[0] != newest:
            self._newest = (newest, _Log(table))
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

    def _renew_schema(self) -> None:
        """Bring a table of an older format to this one: its missing fields, then its name. Each creates a
        version; a process killed between them leaves a table that is read, and completed here.
        """
        with self._errors("write"):
            if _missing(self._table):
                self._changed(lambda table: table.alter.add_columns(_missing(table)), _missing)
            if _is_older(self._table):
                self._changed(_name_format, _is_older)

    def _changed(self, change: Callable[[DeltaTable], None], needed: Callable[[DeltaTable], object]) -> None:
        """Change the table, unless another process has done it concurrently."""
        try:
            change(self._table)
        except DeltaError:
            self._table.update_incremental()
            if needed(self._table):
                raise

    def _write(self, trajectories: Sequence[Trajectory], file: str) -> None:
        """Write the Parquet file of a batch; on any failure, no file is left."""
        if not trajectories:
            return
        try:
            with self._errors("write"):
                _write_parquet(trajectories, file, self.place)
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
                    actions.append(_add_action(file, self.place.size(file), trajectories))
                self._table.create_write_transaction(
                    actions, "append", Schema.from_arrow(SCHEMA), commit_properties=properties
                )
        except StoreError:
            # a file in the log is in use, whatever was raised; if the log cannot be read, it stays
            if file not in self._files(None):
                self.place.remove(file)
            if self.committed(**commit) is None:
                raise

    def _errors(self, doing: str) -> AbstractContextManager[None]:
        return _one_error(f"cannot {doing} the table of trajectories {self.place}")


@contextmanager
def _one_error(what: str) -> Generator[None]:
    """Convert errors of files, Arrow and Delta to `StoreError` with one line."""
    try:
        yield
    except (DeltaError, OSError, ValueError, pa.ArrowException, pl.exceptions.PolarsError) as cause:
        raise StoreError(f"{what}: {one_line(cause)}") from cause


class _Log:
    """Parquet files of a version of the table, with their statistics in its log."""

    def __init__(self, table: DeltaTable) -> None:
        actions = pa.table(table.get_add_actions(flatten=True))
        ends = [f"{end}.{column}" for column in _PRUNED for end in ("min", "max")]
        self._columns: dict[str, list[Any]] = {
            name: actions.column(name).to_pylist() for name in ("path", *ends) if name in actions.column_names
        }

    def files(self, where: Where) -> list[str]:
        """Names of the files that may hold a match."""
        names = set(self._columns["path"])
        for column, values in where.terms():
            if f"min.{column}" in self._columns:
                names -= set(self._without(column, values))
        return sorted(names)

    def _without(self, column: str, values: Sequence[Any]) -> Iterator[str]:
        """Files in which no row has any of these values; some files may have no statistics."""
        ranges = (self._columns[name] for name in ("path", f"min.{column}", f"max.{column}"))
        for path, low, high in zip(*ranges, strict=True):
            if low is not None and high is not None and not any(low <= value <= high for value in values):
                yield path


def _tuples(batch: Any) -> list[tuple[Any, ...]]:
    """The rows of a `pyarrow.RecordBatch`."""
    return list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


_POLARS_TYPES = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}


def _scanned(files: list[str]) -> pl.LazyFrame:
    """`EPISODE_COLUMNS` of Parquet files; columns that an older file lacks are null."""
    schema = {name: _POLARS_TYPES[str(SCHEMA.field(name).type)] for name in EPISODE_COLUMNS}
    if not files:
        return pl.LazyFrame(schema=schema)
    # not `scan_delta`: it does not find tables in folders whose name has a space
    return pl.scan_parquet(files, glob=False, schema=schema, missing_columns="insert", extra_columns="ignore")


def _missing(table: DeltaTable) -> list[Any]:
    """The fields of `SCHEMA` that a table of an older format has not, or has with fewer members."""
    found, expected = _columns(table.schema()), _columns(Schema.from_arrow(SCHEMA))
    changed = [field for field in SCHEMA if found.get(field.name) != expected[field.name]]
    # Delta refuses to merge a field with one that has another comment
    fields = [without_comments(field) if field.name in found else field for field in changed]
    return list(Schema.from_arrow(pa.schema(fields)).fields)


def _name_format(table: DeltaTable) -> None:
    table.alter.set_table_properties({FORMAT_KEY: FORMAT}, raise_if_not_exists=False)


def _is_older(table: DeltaTable) -> bool:
    return table.metadata().configuration.get(FORMAT_KEY) != FORMAT


def _check_format(table: DeltaTable, place: Place) -> None:
    """Check the schema by name and type: values are read without validation."""
    found = table.metadata().configuration.get(FORMAT_KEY)
    if found not in (FORMAT, *OLDER_FORMATS):
        raise StoreError(f"{place} is a Delta table of format {found!r}, not {FORMAT!r}; name another folder")
    columns, expected = _columns(table.schema()), _columns(Schema.from_arrow(SCHEMA))
    if columns != expected and columns not in [_columns(Schema.from_arrow(older)) for older in OLDER_SCHEMAS]:
        names = sorted(name for name in columns | expected if columns.get(name) != expected.get(name))
        raise StoreError(f"{place}: columns differ from format {FORMAT}: {', '.join(names)}")
    if table.protocol().reader_features:
        features = ", ".join(table.protocol().reader_features or [])
        raise StoreError(f"{place} uses features of Delta that this version does not read: {features}")


def _columns(schema: Schema) -> dict[str, Any]:
    """Arrow types by column; unlike those of Delta, they are equal whatever the comments on nested fields."""
    return {field.name: field.type for field in pa.schema(schema.to_arrow())}


def _refuse_repeated_ids(trajectories: Sequence[Trajectory]) -> None:
    seen: set[str] = set()
    for episode in trajectories:
        if episode.id in seen:
            raise StoreError(f"episode {episode.id!r} is twice in one batch")
        seen.add(episode.id)


def _write_parquet(trajectories: Sequence[Trajectory], file: str, place: Place) -> None:
    with parquet.ParquetWriter(
        file,
        SCHEMA,
        filesystem=place.files,
        compression="zstd",
        compression_level=1,
        store_schema=False,
        write_statistics=list(EPISODE_COLUMNS),
    ) as writer:
        for group in _row_groups(trajectories):
            writer.write_batch(to_batch(group))


def _row_groups(trajectories: Sequence[Trajectory]) -> Iterator[Sequence[Trajectory]]:
    """Slices of the episodes, bounded in number and in size."""
    start = size = 0
    for place, episode in zip(count(), trajectories, strict=False):
        weight = _weight(episode)
        if place > start and (place - start >= _GROUP_EPISODES or size + weight > _GROUP_CHARACTERS):
            yield trajectories[start:place]
            start, size = place, 0
        size += weight
    yield trajectories[start:]


def _weight(episode: Trajectory) -> int:
    """Approximate size of an episode in characters and ids."""
    total = len(episode.initial_observation) + len(episode.instruction)
    for turn in episode.turns:
        total += len(turn.observation) + len(turn.action)
        if turn.sample is not None:
            total += len(turn.sample.text) + len(turn.sample.prompt_ids) + len(turn.sample.token_ids)
    return total


def _add_action(file: str, size: int, trajectories: Sequence[Trajectory]) -> AddAction:
    values: dict[str, list[Any]] = {
        name: [getattr(episode, name) for episode in trajectories] for name in _PRUNED if name != "ending"
    }
    values["ending"] = [episode.ending.kind for episode in trajectories]
    stats = {
        "numRecords": len(trajectories),
        "minValues": {name: min(column) for name, column in values.items()},
        "maxValues": {name: max(column) for name, column in values.items()},
        "nullCount": dict.fromkeys(values, 0),
    }
    return AddAction(file, size, {}, int(time.time() * 1000), True, json.dumps(stats))
