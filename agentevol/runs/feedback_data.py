"""Training data of one update from feedback on a run or table."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentevol.config.run import TrainConfig
from agentevol.core.algorithms.contract import Objective
from agentevol.data.feedback.opinions import check_sources, feedback_on, opinions_of, trained_split
from agentevol.data.feedback.taught import Taught, taught
from agentevol.data.stored_episodes import open_table
from agentevol.models.rendering import ChatRenderer
from agentgym_store.feedback.records import Feedback
from agentgym_store.records import Trajectory
from agentgym_store.store import Where


def taught_by(
    data: Path | str, config: TrainConfig, chosen: Objective, renderer: ChatRenderer, where: Where
) -> Taught:
    """Training data from opinions on episodes of a run or table. Raises `ConfigError` and `StoreError`."""
    records = feedback_on(data).records()
    check_sources(records, (*config.feedback.sources, *config.feedback.weights))
    opinions = opinions_of(records, config.feedback.sources)
    return taught(opinions, _episodes(data, opinions, where), config, chosen, renderer, trained_split(data))


def _episodes(data: Path | str, opinions: Sequence[Feedback], where: Where) -> dict[str, Trajectory]:
    """The episodes that opinions are about, as far as they are chosen."""
    names = {name for one in opinions for name in one.episodes}
    if not names:
        return {}
    found = open_table(data).trajectories(replace(where, ids=sorted(names)))
    return {episode.id: episode for episode in found}
