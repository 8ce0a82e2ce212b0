"""Opinions beside the recorded outcomes of their episodes."""

from collections.abc import Mapping

from agentgym_store.feedback.records import Comparison, Feedback, Score
from agentgym_store.records import Trajectory

MIDDLE = 0.5
"""Place on a scale above which a score says that the episode was won, and below which that it was lost."""


def returns_of(episodes: Mapping[str, Trajectory]) -> dict[str, float]:
    """Returns of episodes by id, without those that have none."""
    return {name: one.total_reward for name, one in episodes.items() if one.total_reward is not None}


def contradicts(one: Feedback, episodes: Mapping[str, Trajectory]) -> bool:
    """True for an opinion against the outcome: a score of a whole episode above the middle where the episode
    was lost, or below it where it was won, and a preference of a lost episode over one that was won.
    """
    found = [episodes[name] for name in one.episodes if name in episodes]
    if len(found) < len(one.episodes) or any(episode.total_reward is None for episode in found):
        return False
    opinion, won = one.opinion, [episode.succeeded() for episode in found]
    if isinstance(opinion, Score) and one.turn is None:
        return opinion.share < MIDDLE if won[0] else opinion.share > MIDDLE
    if isinstance(opinion, Comparison) and opinion.verdict != "tie":
        return won == ([False, True] if opinion.verdict == "better" else [True, False])
    return False
