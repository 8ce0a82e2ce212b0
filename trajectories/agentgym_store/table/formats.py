"""Formats of tables: the check of a table that is opened, and the renewal of an older one."""

from collections.abc import Callable
from functools import partial
from typing import Any

from deltalake import DeltaTable, Schema
from deltalake.exceptions import DeltaError

from agentgym_store.arrow import (
    FORMAT,
    FORMAT_KEY,
    OLDER_FORMATS,
    OLDER_SCHEMAS,
    SCHEMA,
    pa,
    without_comments,
)
from agentgym_store.errors import StoreError
from agentgym_store.location import Place


def create_table(place: Place, schema: Any, name: str, description: str, format_name: str) -> DeltaTable:
    """Create a table, or open the one that another process has created meanwhile."""
    place.make()
    return DeltaTable.create(
        place.name,
        Schema.from_arrow(schema),
        mode="ignore",
        name=name,
        description=description,
        # entries of the log tell which batches are in, so it is never cleaned up
        configuration={FORMAT_KEY: format_name, "delta.enableExpiredLogCleanup": "false"},
        raise_if_key_not_exists=False,
    )


def check_format(table: DeltaTable, place: Place) -> None:
    """Check the schema by name and type: values are read without validation. Raises `StoreError`."""
    found = table.metadata().configuration.get(FORMAT_KEY)
    if found not in (FORMAT, *OLDER_FORMATS):
        raise StoreError(f"{place} is a Delta table of format {found!r}, not {FORMAT!r}; name another folder")
    columns, expected = _columns(table.schema()), _columns(Schema.from_arrow(SCHEMA))
    older = [_columns(Schema.from_arrow(schema)) for _, schema in OLDER_SCHEMAS]
    if columns not in (expected, *older):
        names = sorted(name for name in columns | expected if columns.get(name) != expected.get(name))
        raise StoreError(f"{place}: columns differ from format {FORMAT}: {', '.join(names)}")
    if table.protocol().reader_features:
        features = ", ".join(table.protocol().reader_features or [])
        raise StoreError(f"{place} uses features of Delta that this version does not read: {features}")


def renew_format(table: DeltaTable, schema: Any = SCHEMA, format_name: str = FORMAT) -> None:
    """Bring a table of an older format to this one: its missing fields, then its name. Each creates a
    version; a process killed between them leaves a table that is read, and completed here.
    """

    def missing(table: DeltaTable) -> list[Any]:
        return _missing(table, schema)

    def is_older(table: DeltaTable) -> bool:
        return table.metadata().configuration.get(FORMAT_KEY) != format_name

    if missing(table):
        _change(table, lambda: table.alter.add_columns(missing(table)), missing)
    if is_older(table):
        properties = {FORMAT_KEY: format_name}
        name = partial(table.alter.set_table_properties, properties, raise_if_not_exists=False)
        _change(table, name, is_older)


def _change(table: DeltaTable, change: Callable[[], None], needed: Callable[[DeltaTable], object]) -> None:
    """Change the table, unless another process has done it concurrently."""
    try:
        change()
    except DeltaError:
        table.update_incremental()
        if needed(table):
            raise


def _missing(table: DeltaTable, schema: Any) -> list[Any]:
    """The fields of `schema` that a table of an older format has not, or has with fewer members."""
    found, expected = _columns(table.schema()), _columns(Schema.from_arrow(schema))
    changed = [field for field in schema if found.get(field.name) != expected[field.name]]
    # Delta refuses to merge a field with one that has another comment
    fields = [without_comments(field) if field.name in found else field for field in changed]
    return list(Schema.from_arrow(pa.schema(fields)).fields)


def _columns(schema: Schema) -> dict[str, Any]:
    """Arrow types by column; unlike those of Delta, they are equal whatever the comments on nested fields."""
    return {field.name: field.type for field in pa.schema(schema.to_arrow())}
