"""Explored episodes with a score in place of their return, for selection and for what is learnt.

An episode with rewards 0, 1 and score 0.25 has rewards 0, 0.25 then. Its outcome in the table stays.
"""

from collections.abc import Iterable, Mapping

from agentevol.data.selection.filters import scored
from agentgym_store.records import Trajectory


def rescored(trajectories: Iterable[Trajectory], scores: Mapping[str, float]) -> list[Trajectory]:
    """Episodes with their score as return, at the last turn; those without a score are left out."""
    return [with_return(t, scores[t.id]) for t in scored(trajectories) if t.id in scores]


def with_return(trajectory: Trajectory, total: float) -> Trajectory:
    """The episode with `total` as its return, at its last turn."""
    last = len(trajectory.turns) - 1
    turns = tuple(
        turn.model_copy(update={"reward": total if number == last else 0.0})
        for number, turn in enumerate(trajectory.turns)
    )
    return trajectory.model_copy(update={"turns": turns})
