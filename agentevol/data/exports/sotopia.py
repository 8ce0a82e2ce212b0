"""Conversations in the form of Sotopia's `EpisodeLog`, JSON Lines (`agentevol.data.episode_logs`)."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentevol.data.episode_logs import episode_logs, seats_of
from agentevol.data.groups import by_key
from agentgym_store.exports.contract import Exported, ExportFormat, Tally
from agentgym_store.records import Trajectory


class Sotopia(ExportFormat):
    """An `EpisodeLog` for each episode, of both seats together."""

    name = "sotopia"
    suffix, layout = ".jsonl", "lines"
    summary = "An episode of `sotopia` as `EpisodeLog`."
    loses = (
        "token ids, log-probabilities and policy versions",
        "judgements after the first, and what else the environment told",
        "other environments, and episodes without a judgement unless they are allowed",
    )
    by_task = True

    def __init__(self, *, allow_unjudged: bool = False) -> None:
        self._allow_unjudged = allow_unjudged

    @property
    def options(self) -> Mapping[str, Any]:
        """See `ExportFormat`."""
        return {"allow_unjudged": self._allow_unjudged}

    def rows(self, episodes: Iterable[Trajectory], tally: Tally) -> Iterator[Exported]:
        """One for each episode that has a conversation, and a judgement unless those without are allowed."""
        seats = by_key(episodes, lambda one: one.episode)
        every = [one for found in seats.values() for one in found]
        logs, left_out = episode_logs(seats_of(every), allow_unjudged=self._allow_unjudged)
        tally.left_out.update(left_out)
        for log in logs:
            yield Exported(log, tuple(seats[log["pk"]]))

    def content(self, row: Any) -> object:
        """The log without its names."""
        return {name: value for name, value in row.items() if name not in ("pk", "tag")}
