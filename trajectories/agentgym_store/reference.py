"""Reference of the table's columns as Markdown, made from the records and the schema; `make docs` writes it.

A column that holds a field of a record is checked against the field's annotation, so that the page cannot be
made of a schema that differs from the records.
"""

from collections.abc import Iterator
from textwrap import fill
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from agentgym_envs.core import Record
from agentgym_store.arrow import FORMAT, OLDER_SCHEMAS, SAMPLE, SCHEMA, TURN, pa
from agentgym_store.records import Sample, Trajectory, Turn
from agentgym_store.table.turns import EPISODE_PART, TURN_PART

DERIVED = {
    "limit": "`ending.limit`",
    "failure": "`ending.failure`",
    "failure_detail": "`ending.detail`",
    "ending": "`ending.kind`",
    "total_reward": "computed",
    "succeeded": "computed",
    "turn_count": "computed",
    "sampled_tokens": "computed",
    "prompt_shared": "`prompt_ids`",
    "prompt_new": "`prompt_ids`",
}
"""Columns that do not hold a field unchanged, and what they are made of."""

INTRODUCTION = """\
# Columns of the table

Made from the records in `trajectories/agentgym_store/records.py` and the schema of the table by `make docs`;
a test compares. [Trajectories](trajectories.md) says what the records mean, and how formats differ.

The table has a row for each trajectory. Types are those of Arrow; a column without `null` is never null.
"Format" is the first format of the table with the column. "Field" is what the column is made of, where it
does not hold the field of its name.
"""
VIEWS = (
    "`agentevol trajectories sql` reads the view `episodes`, which has the columns of trajectories without"
    " `turns`, and the view `turns`, which has a row for each turn. Its columns of the episode are {} and {}."
    " Its own columns, with the types of polars:"
)
WIDTH = 130
HEADER = ("column", "type", "null", "format", "field", "meaning")


def reference() -> str:
    """The text of docs/table.md."""
    return INTRODUCTION + "".join(_sections())


def columns(kind: Any, record: type[Record]) -> Iterator[tuple[str, str, str, str, str]]:
    """Name, type, whether it may be null, field and meaning of each column of a schema or struct.

    Raises `ValueError` where a column differs from the field of its name, and for a field without a column.
    """
    fields = dict(record.model_fields)
    for column in kind:
        source = DERIVED.get(column.name, "")
        if not source and column.name not in fields:
            raise ValueError(f"the column {column.name} is made of no field of {record.__name__}")
        if not source and not _holds(column, fields[column.name].annotation):
            raise ValueError(
                f"{record.__name__}.{column.name} is {fields[column.name].annotation}, not {column.type}"
            )
        fields.pop(column.name, None)
        null = "null" if column.nullable else ""
        yield column.name, _type(column.type), null, source, column.metadata[b"comment"].decode()
    left = fields.keys() - {source.strip("`").partition(".")[0] for source in DERIVED.values()}
    if left:
        raise ValueError(f"{record.__name__} has fields without a column: {', '.join(sorted(left))}")


def _sections() -> Iterator[str]:
    yield from ("\n## Trajectories\n\n", _columns_table(SCHEMA, Trajectory, ""))
    yield from (
        "\n## Turns\n\nThe fields of each element of `turns`.\n\n",
        _columns_table(TURN, Turn, "turns."),
    )
    yield from (
        "\n## Samples\n\nThe fields of `turns.sample`.\n\n",
        _columns_table(SAMPLE, Sample, "turns.sample."),
    )
    *shared, last = (f"`{name}`" for name in EPISODE_PART)
    views = fill(VIEWS.format(", ".join(shared), last), WIDTH)
    yield f"\n## Views of SQL\n\n{views}\n\n"
    own = ((f"`{name}`", f"`{column.kind}`", column.comment) for name, column in TURN_PART.items())
    yield _table(("column", "type", "meaning"), own)


def _columns_table(kind: Any, record: type[Record], path: str) -> str:
    rows = (
        (f"`{name}`", f"`{of}`", null, _format(path + name), source, comment)
        for name, of, null, source, comment in columns(kind, record)
    )
    return _table(HEADER, rows)


def _table(header: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [header, ("---",) * len(header), *rows]
    return "".join(f"| {' | '.join(cells)} |\n".replace("|  |", "| |") for cells in lines)


def _format(path: str) -> str:
    """Number of the first format with a column; "later" where its first tables had not."""
    has = [(name, path in set(_paths(schema))) for name, schema in OLDER_SCHEMAS]
    first = next((name for name, is_there in has if is_there), FORMAT)
    number = first.rpartition("/")[2]
    return f"{number}, later" if (first, False) in has else number


def _paths(fields: Any, prefix: str = "") -> Iterator[str]:
    """Names of columns and of their nested fields, `turns.sample.text`."""
    for field in fields:
        yield prefix + field.name
        kind = field.type.value_type if pa.types.is_list(field.type) else field.type
        if pa.types.is_struct(kind):
            yield from _paths(kind, f"{prefix}{field.name}.")


def _type(kind: Any) -> str:
    """The type of a column; a struct is described in a section of its own."""
    if pa.types.is_struct(kind):
        return "struct"
    if pa.types.is_list(kind):
        return f"list<{_type(kind.value_type)}>"
    return str(kind)


_ARROW = {str: {"string"}, int: {"int64", "int32", "int8"}, float: {"double"}}


def _holds(column: Any, annotation: Any) -> bool:
    """Whether a column has the type of an annotation, and null where that has None or a default for it."""
    expected, is_optional = _unwrapped(annotation)
    if is_optional and not column.nullable:
        return False
    if isinstance(expected, type) and issubclass(expected, Record):
        return pa.types.is_struct(column.type)
    if get_origin(expected) is dict:  # a JSON object, or a map
        return str(column.type) == "string" or pa.types.is_map(column.type)
    if get_origin(expected) is tuple:
        return pa.types.is_list(column.type) and _holds(column.type.value_field, get_args(expected)[0])
    return str(column.type) in _ARROW[expected]


def _unwrapped(annotation: Any) -> tuple[Any, bool]:
    """The type behind unions with None, literals and annotations, and whether None is allowed."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _unwrapped(get_args(annotation)[0])
    if origin is Literal:
        value: object = get_args(annotation)[0]
        return type(value), False
    if origin in (Union, UnionType):
        others = [one for one in get_args(annotation) if one is not NoneType]
        return _unwrapped(others[0])[0], len(others) < len(get_args(annotation))
    return annotation, False


if __name__ == "__main__":
    import sys

    sys.stdout.write(reference())
