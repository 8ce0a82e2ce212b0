"""Whole episodes as Parquet, as `agentevol trajectories export` and tables have them. Lossless."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from agentgym_store.arrow import SCHEMA, pa, parquet
from agentgym_store.errors import StoreError, one_line
from agentgym_store.exports.parquet import table_batch
from agentgym_store.imports.contract import Draft, Importer, members, refusal_of
from agentgym_store.imports.reading import Refusal
from agentgym_store.records import Trajectory
from agentgym_store.rows import from_batch

BATCH_ROWS = 256
MISSING = "a value that is missing"


class Parquet(Importer):
    """Every field of every episode."""

    name = "parquet"
    summary = "A row of the table, or of an export of it."
    lossless = True

    def recognises(self, record: Any) -> bool:
        """See `Importer`; rows of other Parquet files are records like those of JSON."""
        return {"initial_observation", "turns", "turn_count"} <= set(members(record))

    def records(self, path: Path) -> Iterator[tuple[str, Any]]:
        """Episodes as the file holds them, not yet checked."""
        number = 0
        for batch in _batches(path):
            for episode in _read(batch, path):
                number += 1
                yield f"{path.name}, row {number}", episode

    def episode(self, record: Any) -> Draft | Trajectory:
        """See `Importer`."""
        try:
            return Trajectory.model_validate(record.model_dump(warnings=False))
        except ValidationError as cause:
            raise refusal_of(cause) from cause


def _batches(path: Path) -> Iterator[Any]:
    try:
        with parquet.ParquetFile(path) as file:
            missing = sorted(set(SCHEMA.names) - set(file.schema_arrow.names) - _optional())
            if missing:
                raise StoreError(
                    f"{path} has no columns {', '.join(missing)}: it is no export of whole episodes;"
                    " name the format of its rows"
                )
            yield from file.iter_batches(batch_size=BATCH_ROWS)
    except (OSError, pa.ArrowException) as cause:
        raise StoreError(f"cannot read {path}: {one_line(cause)}") from cause


def _optional() -> set[str]:
    """Columns that older tables have not."""
    return {field.name for field in SCHEMA if field.nullable}


def _read(batch: Any, path: Path) -> list[Trajectory]:
    """Episodes of a batch. Raises `StoreError` for columns of other types, and for missing values."""
    try:
        rows = pa.Table.from_batches([batch])
        for name in _optional() - set(rows.column_names):
            rows = rows.append_column(name, pa.nulls(len(rows), SCHEMA.field(name).type))
        found = table_batch(rows.combine_chunks().to_batches()[0])
        _check_complete(found.schema, found.columns)
        return from_batch(found)
    except (pa.ArrowException, KeyError, ValueError, TypeError) as cause:
        raise StoreError(f"{path} holds no episodes of this format: {one_line(cause)}") from cause


def _check_complete(fields: Any, columns: Any) -> None:
    """Raise `Refusal` where a value is missing that every episode has."""
    for field, column in zip(fields, columns, strict=True):
        if not field.nullable and column.null_count:
            raise Refusal(MISSING, field.name)
        if pa.types.is_list(field.type):
            _check_complete([field.type.value_field], [column.flatten()])
        elif pa.types.is_struct(field.type):
            valid = column.filter(column.is_valid())
            _check_complete(list(field.type), [valid.field(member.name) for member in field.type])
