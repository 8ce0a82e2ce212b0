"""Arrow schema of the table, and a typed wrapper of pyarrow.

pyarrow ships no type information, so `pa` and its modules are `Any` here, once, for strict checking.
"""

from collections.abc import Collection
from typing import Any

import pyarrow  # pyright: ignore[reportMissingTypeStubs] - there are none
import pyarrow.compute  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.fs  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

from agentgym_store.purposes import PURPOSES

pa: Any = pyarrow
parquet: Any = pyarrow.parquet
compute: Any = pyarrow.compute
fs: Any = pyarrow.fs

FORMAT = "agentevol.trajectory/3"
OLDER_FORMATS = ("agentevol.trajectory/1", "agentevol.trajectory/2")
FORMAT_KEY = "agentevol.format"


def _field(name: str, kind: Any, comment: str, nullable: bool = False) -> Any:
    return pa.field(name, kind, nullable=nullable, metadata={"comment": comment})


def _list_of(kind: Any) -> Any:
    # `element` is the name that Parquet and Delta writers agree on
    return pa.list_(pa.field("element", kind, nullable=False))


SAMPLE = pa.struct(
    [
        _field("text", pa.string(), "The decoded token_ids without the end token."),
        _field(
            "prompt_shared",
            pa.int32(),
            "How many leading ids are those of the previous sample, its prompt and token_ids together.",
        ),
        _field("prompt_new", _list_of(pa.int32()), "The prompt ids after the shared ones."),
        _field("token_ids", _list_of(pa.int32()), "Sampled ids, the end-of-turn token included if sampled."),
        _field("logprobs", _list_of(pa.float64()), "Natural log-probability of each sampled id."),
        _field("policy_version", pa.int64(), "Version of the weights that sampled."),
        _field("finish_reason", pa.string(), "stop, length or abort."),
        _field(
            "loss_mask",
            _list_of(pa.int8()),
            "Of each sampled id, 1 where it may be learnt; null: all.",
            nullable=True,
        ),
    ]
)

TURN = pa.struct(
    [
        _field("action", pa.string(), "The text sent to the environment."),
        _field("observation", pa.string(), "The environment's answer."),
        _field("reward", pa.float64(), "Reward of this action."),
        _field(
            "info", pa.string(), "JSON object of the environment's extras; null when empty.", nullable=True
        ),
        _field("sample", SAMPLE, "The model's reply; null for scripted agents.", nullable=True),
        _field(
            "costs",
            pa.map_(pa.string(), pa.float64()),
            "Costs of this action by name, null where not judged; null when empty.",
            nullable=True,
        ),
        _field(
            "policy_s",
            pa.float64(),
            "Seconds until the policy's message was there; null if not recorded.",
            nullable=True,
        ),
        _field(
            "environment_s",
            pa.float64(),
            "Seconds of the step as its client saw them; null if not recorded.",
            nullable=True,
        ),
    ]
)

SCHEMA = pa.schema(
    [
        _field("id", pa.string(), "Unique id of the episode."),
        _field("run", pa.string(), "Run that asked for the episode."),
        _field("iteration", pa.int64(), "0 for demonstrations and evaluation of the start, then 1, 2, ..."),
        _field("purpose", pa.string(), ", ".join(PURPOSES) + "."),
        _field("env", pa.string(), "Environment."),
        _field("env_version", pa.string(), "Version of the environment's code."),
        _field("data_version", pa.string(), "Digest of the data behind its tasks."),
        _field("task_id", pa.string(), "Task, unique within the environment."),
        _field("split", pa.string(), "Split of the task."),
        _field("kind", pa.string(), "Task type; empty where the environment has none."),
        _field("difficulty", pa.string(), "Difficulty level; empty where the environment has none."),
        _field("instruction", pa.string(), "Instruction of the task."),
        _field("seed", pa.int64(), "Seed of the episode."),
        _field("attempt", pa.int64(), "Which of the samples of this task in this iteration, from 0."),
        _field("policy", pa.string(), "Name of what acted."),
        _field("initial_observation", pa.string(), "The first observation."),
        _field("ending", pa.string(), "terminated, truncated, cancelled or failed."),
        _field("limit", pa.string(), "Which limit truncated the episode; else null.", nullable=True),
        _field("failure", pa.string(), "The failed part of a failed episode; else null.", nullable=True),
        _field("failure_detail", pa.string(), "Text of the failure; else null.", nullable=True),
        _field("total_reward", pa.float64(), "Sum of rewards; null when failed or cancelled.", nullable=True),
        _field(
            "succeeded",
            pa.bool_(),
            "Return is the maximum of 1; null when failed or cancelled.",
            nullable=True,
        ),
        _field("turn_count", pa.int64(), "Number of turns."),
        _field("sampled_tokens", pa.int64(), "Number of sampled token ids."),
        _field("started_at", pa.string(), "RFC 3339, UTC."),
        _field("wall_s", pa.float64(), "Duration in seconds."),
        _field("turns", _list_of(TURN), "The turns in order."),
        _field("parent", pa.string(), "Id of the episode that this one continues or answers.", nullable=True),
        _field(
            "given_turns",
            pa.int64(),
            "Number of first turns that were replayed, not chosen by the policy; null: 0.",
            nullable=True,
        ),
        _field(
            "temperature",
            pa.float64(),
            "Sampling temperature of this episode; null: the run's own.",
            nullable=True,
        ),
        _field(
            "episode_id",
            pa.string(),
            "Id shared by all seats of an episode; null in an episode of one seat.",
            nullable=True,
        ),
        _field("seat", pa.int64(), "Seat of the agent in the episode, from 0; null: 0.", nullable=True),
    ]
)

EPISODE_COLUMNS: tuple[str, ...] = tuple(name for name in SCHEMA.names if name != "turns")
"""Every column but the nested one: the columns of `Store.scan`."""


def _without(columns: Collection[str], of_turns: Collection[str], of_samples: Collection[str]) -> Any:
    """`SCHEMA` less some columns, fields of turns and fields of samples."""
    sample = pa.struct([field for field in SAMPLE if field.name not in of_samples])
    turn = pa.struct(
        [
            field.with_type(sample) if field.name == "sample" else field
            for field in TURN
            if field.name not in of_turns
        ]
    )
    return pa.schema(
        [
            field.with_type(_list_of(turn)) if field.name == "turns" else field
            for field in SCHEMA
            if field.name not in columns
        ]
    )


def without_comments(field: Any) -> Any:
    """A field less the metadata of itself and of its nested fields."""
    return field.with_type(_plain(field.type)).remove_metadata()


def _plain(kind: Any) -> Any:
    if pa.types.is_struct(kind):
        return pa.struct([without_comments(field) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(without_comments(kind.value_field))
    return kind


_ADDED_IN_2 = ("parent", "given_turns", "temperature", "episode_id", "seat")

_TURNS_IN_3 = ("policy_s", "environment_s")

OLDER_SCHEMAS: tuple[tuple[str, Any], ...] = (
    ("agentevol.trajectory/1", _without(_ADDED_IN_2, ["costs", *_TURNS_IN_3], ["loss_mask"])),
    ("agentevol.trajectory/1", _without(_ADDED_IN_2, ["costs", *_TURNS_IN_3], [])),  # with loss masks
    ("agentevol.trajectory/2", _without([], _TURNS_IN_3, [])),
)
"""Schemas of tables of `OLDER_FORMATS` with their formats, oldest first. They are read unchanged: missing
fields are null.
"""
