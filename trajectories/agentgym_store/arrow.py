"""Arrow schema of the table, and a typed wrapper of pyarrow.

pyarrow ships no type information, so `pa` and its modules are `Any` here, once, for strict checking.
"""

from typing import Any

import pyarrow  # pyright: ignore[reportMissingTypeStubs] - there are none
import pyarrow.dataset  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.fs  # pyright: ignore[reportMissingTypeStubs]
import pyarrow.parquet  # pyright: ignore[reportMissingTypeStubs]

pa: Any = pyarrow
parquet: Any = pyarrow.parquet
dataset: Any = pyarrow.dataset
fs: Any = pyarrow.fs

FORMAT = "agentevol.trajectory/1"
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
        _field("action", pa.string(), "What was sent to the environment."),
        _field("observation", pa.string(), "What the environment answered."),
        _field("reward", pa.float64(), "Reward of this action."),
        _field(
            "info", pa.string(), "JSON object of the environment's extras; null when empty.", nullable=True
        ),
        _field("sample", SAMPLE, "What the model said; null for scripted agents.", nullable=True),
    ]
)

SCHEMA = pa.schema(
    [
        _field("id", pa.string(), "Unique id of the episode."),
        _field("run", pa.string(), "Run that asked for the episode."),
        _field("iteration", pa.int64(), "0 for demonstrations and evaluation of the start, then 1, 2, ..."),
        _field("purpose", pa.string(), "explore, evaluate, demonstrate, value, retain or protect."),
        _field("env", pa.string(), "Environment."),
        _field("env_version", pa.string(), "Version of the environment's code."),
        _field("data_version", pa.string(), "Digest of the data behind its tasks."),
        _field("task_id", pa.string(), "Task, unique within the environment."),
        _field("split", pa.string(), "Split of the task."),
        _field("kind", pa.string(), "Task type; empty where the environment has none."),
        _field("difficulty", pa.string(), "Difficulty level; empty where the environment has none."),
        _field("instruction", pa.string(), "What the agent was told to achieve."),
        _field("seed", pa.int64(), "Seed of the episode."),
        _field("attempt", pa.int64(), "Which of the samples of this task in this iteration, from 0."),
        _field("policy", pa.string(), "Name of what acted."),
        _field("initial_observation", pa.string(), "What the agent saw first."),
        _field("ending", pa.string(), "terminated, truncated, cancelled or failed."),
        _field("limit", pa.string(), "Which limit truncated the episode; else null.", nullable=True),
        _field("failure", pa.string(), "What broke in a failed episode; else null.", nullable=True),
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
    ]
)

EPISODE_COLUMNS: tuple[str, ...] = tuple(name for name in SCHEMA.names if name != "turns")
"""Every column but the nested one: the columns of `Store.scan`."""


def _before_loss_masks(schema: Any) -> Any:
    """The schema of tables before samples had a `loss_mask`."""
    sample = pa.struct([field for field in SAMPLE if field.name != "loss_mask"])
    turn = pa.struct([field.with_type(sample) if field.name == "sample" else field for field in TURN])
    return pa.schema(
        [field.with_type(_list_of(turn)) if field.name == "turns" else field for field in schema]
    )


OLDER_SCHEMAS: tuple[Any, ...] = (_before_loss_masks(SCHEMA),)
"""Older schemas that are read unchanged: missing fields are null."""
