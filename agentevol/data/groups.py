"""Groups of episodes: the unit of every group baseline."""

from agentgym_store.records import Trajectory

GROUP = "group"
"""Key in the first turn's `info`: the group that the owner of the episode named."""


def group_of(trajectory: Trajectory) -> str:
    """Named group of the episode, or else the samples of one task in one round of exploration."""
    named = trajectory.turns[0].info.get(GROUP) if trajectory.turns else None
    if isinstance(named, str):
        return f"{trajectory.run}/group {named}/{trajectory.env}"
    return f"{trajectory.run}/{trajectory.iteration}/{trajectory.env}/{trajectory.task_id}"
