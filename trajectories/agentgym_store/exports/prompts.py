"""Prompts alone, in the form of TRL: JSON Lines for trainers that sample the completions themselves.

{"prompt": [{"role": "user", "content": "You are in ..."}], "meta": {...}}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentgym_store.exports.contract import Exported, ExportFormat, Feature, Tally
from agentgym_store.exports.features import messages, struct, value
from agentgym_store.exports.messages import as_messages, texts
from agentgym_store.exports.provenance import TASK_FEATURES, task_of
from agentgym_store.records import Trajectory

UNSEEN = "without an observation"


class Prompts(ExportFormat):
    """Text that the policy read before its first action; it is kept once for a task."""

    name = "prompts"
    suffix, layout = ".jsonl", "lines"
    summary = "What a policy reads before its first action, once for each task."
    loses = ("everything but the task and what came before the policy's first action",)
    distinct = True
    trainer = "GRPOTrainer"

    def __init__(self, *, meta: bool = True) -> None:
        self._meta = meta

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"meta": self._meta}

    @property
    def features(self) -> list[Feature]:
        """See `ExportFormat`."""
        origin = struct("meta", [*TASK_FEATURES, value("seed", "int64")])
        return [messages("prompt"), *([origin] if self._meta else [])]

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each episode in which there was something to read, with any ending; given turns are part of
        the prompt.
        """
        for episode in episodes:
            if not episode.initial_observation:
                tally.left_out[UNSEEN] += 1
                continue
            row: dict[str, Any] = {"prompt": as_messages(_before(episode))}
            if self._meta:
                row["meta"] = {**task_of(episode), "seed": episode.seed}
            yield Exported(row, (episode,))

    def content(self, row: Any) -> object:
        """The prompt, and its task where that is known: other tasks may begin with the same text."""
        meta = row.get("meta", {})
        return [row["prompt"], *(meta.get(name) for name in ("env", "data_version", "task_id"))]


def _before(episode: Trajectory) -> list[str]:
    """Texts up to the observation at which the policy begins to act."""
    given = episode.given_turns
    if given == len(episode.turns):
        return [*texts(episode), *(turn.observation for turn in episode.turns[-1:])]
    return texts(episode)[: 2 * given + 1]
