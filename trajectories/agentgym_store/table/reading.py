"""Reading of the table's Parquet files: batches of episodes that a filter selects.

Files are read by the thread that asks for a batch, not ahead of it: a reader that stops early leaves no
thread behind. Those of pyarrow's data sets crash Python at its end where the files are in an object store.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from agentgym_store.arrow import SCHEMA, compute, pa, parquet
from agentgym_store.location import Place
from agentgym_store.table.frames import arrow_table, frame_of
from agentgym_store.table.where import ALL, Where


def read(
    files: Sequence[str], place: Place, columns: Sequence[str] | None, where: Where, episodes: int
) -> Iterator[Any]:
    """Batches (`pyarrow.RecordBatch`) of at most `episodes`, in order, with the matching ones alone.

    `columns` may be paths of nested fields, `turns.list.element.action`; None: all. Those that an older file
    lacks are not in its batches.
    """
    for file in files:
        with place.files.open_input_file(file) as source, parquet.ParquetFile(source) as opened:
            for group in range(opened.num_row_groups):
                kept = _matching(opened, group, where)
                yield from _batches(opened, group, columns, kept, episodes)


def _matching(opened: Any, group: int, where: Where) -> Any:
    """Whether each episode of a row group matches, by the columns of the filter alone; None if all do."""
    if where == ALL:
        return None
    found = frame_of(opened.read_row_group(group, columns=sorted(where.columns())))
    return arrow_table(found.select(kept=where.polars())).column("kept").combine_chunks()


def _batches(
    opened: Any, group: int, columns: Sequence[str] | None, kept: Any, episodes: int
) -> Iterator[Any]:
    if kept is not None and not compute.any(kept).as_py():
        return
    start = 0
    for batch in opened.iter_batches(episodes, row_groups=[group], columns=columns):
        part = batch if kept is None else batch.filter(kept.slice(start, batch.num_rows))
        start += batch.num_rows
        if part.num_rows:
            yield part


def completed(batch: Any, names: Sequence[str], schema: Any = SCHEMA) -> Any:
    """Some columns of a batch in this order and with the types of `schema`; null where an older file lacks
    them, or lacks nested fields.
    """
    fields = [schema.field(name) for name in names]
    arrays = [_column(batch, field.name, field.type) for field in fields]
    return pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _column(batch: Any, name: str, kind: Any) -> Any:
    if name not in batch.schema.names:
        return pa.nulls(batch.num_rows, kind)
    array = batch.column(name)
    return array if array.type == kind else array.cast(kind)
