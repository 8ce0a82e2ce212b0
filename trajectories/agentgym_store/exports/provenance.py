"""Origin of a row: its member `meta`."""

from typing import Any

from agentgym_store.exports.contract import Feature
from agentgym_store.exports.features import struct, value
from agentgym_store.records import Trajectory

TASK_FEATURES = [value(name) for name in ("env", "env_version", "data_version", "task_id", "split", "kind")]
EPISODE_META = struct(
    "meta",
    [
        value("session_id"),
        *TASK_FEATURES,
        value("seed", "int64"),
        value("policy_version", "int64"),
        value("outcome"),
        value("total_reward", "float64"),
        value("given_turns", "int64"),
    ],
)


def task_of(episode: Trajectory) -> dict[str, Any]:
    """The task of an episode, and the data that it is of."""
    return {
        "env": episode.env,
        "env_version": episode.env_version,
        "data_version": episode.data_version,
        "task_id": episode.task_id,
        "split": episode.split,
        "kind": episode.kind,
    }


def policy_version(episode: Trajectory) -> int | None:
    """Version of the weights that sampled the last turn; None for scripted agents."""
    versions = [turn.sample.policy_version for turn in episode.turns if turn.sample is not None]
    return versions[-1] if versions else None


def provenance(episode: Trajectory) -> dict[str, Any]:
    """Origin of a row that was made of one episode."""
    return {
        "session_id": episode.id,
        **task_of(episode),
        "seed": episode.seed,
        "policy_version": policy_version(episode),
        "outcome": episode.ending.kind,
        "total_reward": episode.total_reward,
        "given_turns": episode.given_turns,
    }


def with_meta(row: dict[str, Any], episode: Trajectory, wanted: bool) -> dict[str, Any]:
    """The row, with its origin where it is wanted."""
    return row | {"meta": provenance(episode)} if wanted else row


def features_with_meta(columns: list[Feature], wanted: bool) -> list[Feature]:
    """The columns, with those of the origin where it is wanted."""
    return [*columns, EPISODE_META] if wanted else columns
