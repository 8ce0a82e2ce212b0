"""Whole episodes as JSON Lines: one `Trajectory` per line, every field, tokens included. Lossless."""

from collections.abc import Iterable, Iterator

from agentgym_store.exports.content import content_of
from agentgym_store.exports.contract import Exported, ExportFormat, Feature, Tally
from agentgym_store.exports.features import objects, struct, value, values
from agentgym_store.jsonl import line_of
from agentgym_store.records import Trajectory

SAMPLE = struct(
    "sample",
    [
        value("text"),
        values("prompt_ids", "int32"),
        values("token_ids", "int32"),
        values("logprobs", "float64"),
        value("policy_version", "int64"),
        value("finish_reason"),
        values("loss_mask", "int8"),
    ],
)
TURN = [
    *(value("action"), value("observation"), value("reward", "float64"), SAMPLE),
    *(value("info", "json"), value("costs", "json")),
    *(value("policy_s", "float64"), value("environment_s", "float64")),
]


class JsonLines(ExportFormat):
    """Every field of every episode."""

    name = "jsonl"
    suffix, layout = ".jsonl", "lines"
    summary = "An episode with every field."
    loses = ()
    needs_contexts = True

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        first = ("run", "iteration", "purpose", "env", "env_version", "data_version", "task_id", "split")
        second = ("kind", "difficulty", "instruction", "seed", "attempt", "policy", "initial_observation")
        numbers = {"iteration", "seed", "attempt"}
        plain = [value(name, "int64" if name in numbers else "string") for name in (*first, *second)]
        return [
            *(value("id"), *plain, objects("turns", TURN)),
            struct("ending", [value(name) for name in ("kind", "limit", "failure", "detail")]),
            *(
                value("started_at"),
                value("wall_s", "float64"),
                value("parent"),
                value("given_turns", "int64"),
            ),
            *(value("temperature", "float64"), value("episode_id"), value("seat", "int64")),
        ]

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """All episodes, failed ones too."""
        return (Exported(episode, (episode,)) for episode in episodes)

    def text(self, row: Trajectory) -> str:
        """See `ExportFormat`."""
        return line_of(row)

    def content(self, row: Trajectory) -> object:
        """See `content_of`."""
        return content_of(row)
