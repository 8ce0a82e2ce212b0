"""Opinions beside the recorded outcomes of their episodes."""

from collections.abc import Iterable, Mapping

from agentgym_store.feedback.records import Comparison, Feedback, Score
from agentgym_store.records import Trajectory

MIDDLE = 0.5
"""Place on a scale above which a score says that the episode was won, and below which that it was lost."""


def returns_of(episodes: Mapping[str, Trajectory]) -> dict[str, float]:
    """Returns of episodes by id, without those that have none."""
    return {name: one.total_reward for name, one in episodes.items() if one.total_reward is not None}


def against_outcome(opinions: Iterable[Feedback], episodes: Mapping[str, Trajectory]) -> int:
    """Number of opinions that contradict the outcome: scores of whole episodes above the middle where the
    episode was lost, or below it where it was won, and preferences of a lost episode over one that was won.
    """
    won = {name: one.succeeded() for name, one in episodes.items() if one.total_reward is not None}
    return sum(_contradicts(one, won) for one in opinions if all(name in won for name in one.episodes))


def _contradicts(one: Feedback, won: Mapping[str, bool]) -> bool:
    opinion, here = one.opinion, won[one.trajectory_id]
    if isinstance(opinion, Score) and one.turn is None:
        return opinion.share < MIDDLE if here else opinion.share > MIDDLE
    if isinstance(opinion, Comparison) and opinion.verdict != "tie":
        there = won[opinion.other]
        return (here, there) == ((False, True) if opinion.verdict == "better" else (True, False))
    return False
