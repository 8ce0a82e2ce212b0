"""The views of a table that SQL statements read: `episodes` and `turns`.

Both are read while the statement runs, a batch at a time, and only the columns that it names.
"""

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from agentgym_store.arrow import EPISODE_COLUMNS, SCHEMA
from agentgym_store.errors import StoreError
from agentgym_store.store import Store
from agentgym_store.table.turns import EPISODE_PART, TURN_PART

_TYPES = {"string": pl.String, "int64": pl.Int64, "double": pl.Float64, "bool": pl.Boolean}

Read = Callable[[list[str]], Iterator[pl.DataFrame]]


def descriptions() -> dict[str, dict[str, tuple[Any, str]]]:
    """View -> column -> its type in polars and its meaning."""
    episodes = {name: (_type(name), _comment(name)) for name in EPISODE_COLUMNS}
    turns = {name: episodes[name] for name in EPISODE_PART}
    turns |= {name: (column.kind, column.comment) for name, column in TURN_PART.items()}
    return {"episodes": episodes, "turns": turns}


def views(store: Store, version: int | None, failed: Callable[[StoreError], None]) -> dict[str, pl.LazyFrame]:
    """The views by name. `failed` is told why the table cannot be read, before polars raises an error."""
    described = descriptions()

    def view(name: str, read: Read) -> pl.LazyFrame:
        columns = described[name]
        schema = {column: kind for column, (kind, _) in columns.items()}
        return register_io_source(_source(read, list(columns), failed), schema=schema)

    return {
        "episodes": view("episodes", lambda columns: store.frames(columns, version=version)),
        "turns": view("turns", lambda columns: store.turns(columns, version=version)),
    }


def _source(read: Read, columns: list[str], failed: Callable[[StoreError], None]) -> Any:
    """A source of polars: it is given the columns, filter and number of rows that the statement needs."""

    def source(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        del batch_size
        left = n_rows
        try:
            for frame in read(columns if with_columns is None else with_columns or columns[:1]):
                part = frame if left is None else frame.head(left)
                yield part if predicate is None else part.filter(predicate)
                left = None if left is None else left - part.height
                if left == 0:
                    return
        except StoreError as cause:
            failed(cause)
            raise

    return source


def _type(name: str) -> Any:
    return _TYPES[str(SCHEMA.field(name).type)]


def _comment(name: str) -> str:
    return SCHEMA.field(name).metadata[b"comment"].decode()
