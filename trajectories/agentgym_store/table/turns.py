"""Turns of the table as rows, each with columns of its episode.

Only the Parquet columns behind the asked-for ones are read: an action is a few bytes beside the tokens of its
turn, which take most of a file.
"""

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from agentgym_store.arrow import TURN, compute, pa
from agentgym_store.location import Place
from agentgym_store.table.frames import frame_of
from agentgym_store.table.reading import completed, read
from agentgym_store.table.where import ALL, Where

_READ_EPISODES = 1024
_COUNTED = "reward"
"""Field that is read for the number of turns where no other one is: small, and never null."""
_OPTIONAL = {field.name for field in TURN if field.nullable}
"""Fields of turns, of which an older file may have none."""


@dataclass(frozen=True)
class TurnColumn:
    """Column of a turn, computed from fields of the turn and columns of its episode."""

    kind: Any
    """Type in polars."""
    comment: str
    value: pl.Expr
    """Over the fields of the turn by their path, `sample.text`, and the columns `turn` and `given_turns`."""
    fields: tuple[str, ...] = ()
    """Fields of the turn that the value needs."""


EPISODE_PART = (
    *("id", "run", "iteration", "purpose", "env", "task_id", "split", "kind", "difficulty", "policy"),
    *("attempt", "seat", "ending", "total_reward", "succeeded", "turn_count"),
)
"""Columns of an episode that each of its turns has."""


def _field(name: str, kind: Any, comment: str) -> TurnColumn:
    return TurnColumn(kind, comment, pl.col(name), (name,))


TURN_PART: dict[str, TurnColumn] = {
    "turn": TurnColumn(pl.Int64, "Number of the turn in its episode, from 1.", pl.col("turn")),
    "given": TurnColumn(
        pl.Boolean,
        "True for a turn that was replayed, not chosen by the policy.",
        pl.col("turn") <= pl.col("given_turns").fill_null(0),
    ),
    "action": _field("action", pl.String, "The text sent to the environment."),
    "observation": _field("observation", pl.String, "The environment's answer."),
    "reward": _field("reward", pl.Float64, "Reward of this action."),
    "info": _field("info", pl.String, "JSON object of the environment's extras; null when empty."),
    "costs": _field("costs", pl.String, "JSON object of the costs of this action; null when empty."),
    "policy_s": _field(
        "policy_s", pl.Float64, "Seconds until the policy's message was there; null if not recorded."
    ),
    "environment_s": _field(
        "environment_s", pl.Float64, "Seconds of the step as its client saw them; null if not recorded."
    ),
    "mode": TurnColumn(
        pl.Int64,
        "Thinking mode, 1 to 4, or -1 for a malformed reply; null where there are no modes.",
        pl.col("info").str.json_path_match("$.mode").cast(pl.Int64, strict=False),
        ("info",),
    ),
    "text": _field("sample.text", pl.String, "The model's reply; null for scripted agents."),
    "prompt_tokens": TurnColumn(
        pl.Int64,
        "Number of token ids of the prompt.",
        pl.col("sample.prompt_shared") + pl.col("sample.prompt_new").list.len(),
        ("sample.prompt_shared", "sample.prompt_new"),
    ),
    "sampled_tokens": TurnColumn(
        pl.Int64,
        "Number of sampled token ids.",
        pl.col("sample.token_ids").list.len(),
        ("sample.token_ids",),
    ),
    "logprob": TurnColumn(
        pl.Float64,
        "Sum of the natural log-probabilities of the sampled ids.",
        pl.col("sample.logprobs").list.sum(),
        ("sample.logprobs",),
    ),
    "token_ids": _field("sample.token_ids", pl.List(pl.Int32), "Sampled ids."),
    "logprobs": _field("sample.logprobs", pl.List(pl.Float64), "Natural log-probability of each sampled id."),
    "policy_version": _field("sample.policy_version", pl.Int64, "Version of the weights that sampled."),
    "finish_reason": _field("sample.finish_reason", pl.String, "stop, length or abort."),
}
"""Columns that belong to the turn itself; `text` and those after it are null for scripted agents."""

TURN_COLUMNS: tuple[str, ...] = (*EPISODE_PART, *TURN_PART)


def turn_frames(
    files: Sequence[str], place: Place, columns: Collection[str], where: Where = ALL
) -> Iterator[pl.DataFrame]:
    """Turns of the matching episodes, in order of appending; the turns of about a thousand episodes are in
    memory. `columns` are some of `TURN_COLUMNS`.
    """
    wanted = list(columns)
    needed = {field for name in wanted if name in TURN_PART for field in TURN_PART[name].fields}
    fields = sorted(needed if needed - _OPTIONAL else needed | {_COUNTED})
    plain = {name for name in wanted if name not in TURN_PART}
    plain |= {"given_turns"} if "given" in wanted else set()
    leaves = [f"turns.list.element.{field}" for field in fields]
    for batch in read(files, place, [*sorted(plain), *leaves], where, _READ_EPISODES):
        yield _flat(batch, sorted(plain), fields).select(_expression(name) for name in wanted)


def _expression(name: str) -> pl.Expr:
    part = TURN_PART.get(name)
    return pl.col(name) if part is None else part.value.cast(part.kind).alias(name)


def _flat(batch: Any, plain: Sequence[str], fields: Sequence[str]) -> pl.DataFrame:
    """A row for each turn: the columns of its episode, its number as `turn`, and its fields by their path."""
    lists = batch.column("turns")
    structs = compute.list_flatten(lists)
    parents = compute.list_parent_indices(lists)
    episodes = completed(batch, plain)
    columns = {name: episodes.column(name).take(parents) for name in plain}
    columns |= {field: _values(structs, field) for field in fields}
    lengths = pl.Series(compute.list_value_length(lists).to_pylist(), dtype=pl.Int64)
    numbers = pl.select(pl.int_ranges(1, lengths.filter(lengths > 0) + 1).explode()).to_series()
    return frame_of(pa.table(columns)).with_columns(turn=numbers)


def _values(structs: Any, field: str) -> Any:
    """Values of a field of the turns, null where its struct is null or the file has no such field."""
    for name in field.split("."):
        if structs.type.get_field_index(name) < 0:
            return pa.nulls(len(structs), pa.string())
        structs = compute.struct_field(structs, name)
    if pa.types.is_map(structs.type):
        return pa.array([json.dumps(dict(pairs)) if pairs else None for pairs in structs.to_pylist()])
    return structs
