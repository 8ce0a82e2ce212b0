"""Flags as a cost: an episode that somebody flagged costs `flag` 1, for `constraints.flag`."""

from collections.abc import Collection, Iterable

from agentevol.config.self_evolution.feedback import FLAG
from agentgym_store.records import Trajectory, total_costs


def with_flags(episodes: Iterable[Trajectory], flagged: Collection[str]) -> list[Trajectory]:
    """The episodes; flagged ones with the cost at their last turn."""
    return [_flagged(one) if one.id in flagged and one.turns else one for one in episodes]


def _flagged(episode: Trajectory) -> Trajectory:
    last = episode.turns[-1]
    costs = {**total_costs([last]), FLAG: 1.0}
    turns = (*episode.turns[:-1], last.model_copy(update={"costs": costs}))
    return episode.model_copy(update={"turns": turns})
