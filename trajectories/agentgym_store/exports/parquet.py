"""Whole episodes as Parquet, in columns that `datasets`, pandas, polars and DuckDB read. Lossless.

The columns are those of the table (`agentgym_store.arrow.SCHEMA`), but for the costs of a turn, a list of
objects: `datasets` has no type for maps.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from agentgym_store.arrow import SCHEMA, pa
from agentgym_store.exports.content import content_of
from agentgym_store.exports.contract import Exported, ExportFormat, Tally
from agentgym_store.records import Trajectory
from agentgym_store.rows import to_batch

COST = pa.struct(
    [pa.field("name", pa.string(), nullable=False), pa.field("cost", pa.float64(), nullable=True)]
)
COSTS = pa.list_(pa.field("element", COST, nullable=False))


class Parquet(ExportFormat):
    """Every field of every episode, prompts as in the table: what is new in each, and how much is shared."""

    name = "parquet"
    suffix, layout = ".parquet", "parquet"
    summary = "An episode with every field, in the columns of the table."
    loses = ()
    needs_contexts = True

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """All episodes, failed ones too."""
        return (Exported(episode, (episode,)) for episode in episodes)

    def content(self, row: Trajectory) -> object:
        """See `content_of`."""
        return content_of(row)


def exported_schema() -> Any:
    """`pyarrow.Schema` of the files."""
    turns = SCHEMA.field("turns")
    turn = [
        field.with_type(COSTS) if field.name == "costs" else field for field in turns.type.value_type.fields
    ]
    lists = pa.list_(turns.type.value_field.with_type(pa.struct(turn)))
    return pa.schema([field.with_type(lists) if field.name == "turns" else field for field in SCHEMA])


def exported_batch(episodes: Sequence[Trajectory]) -> Any:
    """Rows of episodes as a `pyarrow.RecordBatch` of `exported_schema`."""
    return _with_costs(to_batch(episodes), exported_schema())


def table_batch(batch: Any) -> Any:
    """Rows of a file as a `pyarrow.RecordBatch` of the table's own schema."""
    return _with_costs(batch, SCHEMA)


def _with_costs(batch: Any, schema: Any) -> Any:
    """The rows in another schema, which differs in the costs of turns."""
    kind = schema.field("turns").type
    structs = batch.column("turns").flatten()
    members = [_member(structs, field) for field in kind.value_type]
    turns = pa.StructArray.from_arrays(members, fields=list(kind.value_type))
    given = batch.column("turns").offsets.to_pylist() or [0]
    offsets = pa.array([offset - given[0] for offset in given], pa.int32())
    arrays = {name: batch.column(name) for name in schema.names}
    arrays["turns"] = pa.ListArray.from_arrays(offsets, turns, type=kind)
    return pa.RecordBatch.from_arrays(list(arrays.values()), schema=schema)


def _member(structs: Any, field: Any) -> Any:
    """A field of turns; null where an older file has no such one. Raises `KeyError` if it may not be null."""
    if structs.type.get_field_index(field.name) < 0 and field.nullable:
        return pa.nulls(len(structs), field.type)
    found = structs.field(field.name)
    return _costs(found, field.type) if field.name == "costs" else found


def _costs(column: Any, kind: Any) -> Any:
    """Costs of turns as maps or as lists of objects; most turns have none."""
    if column.null_count == len(column):
        return pa.nulls(len(column), kind)
    pairs = [None if costs is None else [_pair(cost) for cost in costs] for costs in column.to_pylist()]
    if pa.types.is_map(kind):
        return pa.array(pairs, kind)
    listed = [
        None if costs is None else [{"name": name, "cost": cost} for name, cost in costs] for costs in pairs
    ]
    return pa.array(listed, kind)


def _pair(cost: Any) -> tuple[str, float | None]:
    """Name and value of a cost, an entry of a map or an object."""
    name, amount = (cost["name"], cost["cost"]) if hasattr(cost, "keys") else cost
    return name, amount
