"""Scores of rated episodes, and their labels."""

from collections.abc import Iterable, Mapping

from agentevol.config.self_evolution.feedback import FeedbackConfig
from agentevol.data.feedback.aggregation.aggregate import Aggregated, labels, scores
from agentevol.data.feedback.aggregation.ratings import Ratings, of_scores
from agentevol.data.feedback.outcomes import returns_of
from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Label, balance
from agentgym_store.feedback.records import Feedback
from agentgym_store.records import Trajectory


def rated(given: Iterable[Feedback]) -> dict[str, float]:
    """Mean score of each episode in [0, 1]: each score by its scale. Scores of turns are left out."""
    return dict(sorted(scores(_of_episodes(given)).values.items()))


def aggregated(
    given: Iterable[Feedback], how: FeedbackConfig, episodes: Mapping[str, Trajectory]
) -> Aggregated:
    """Score of each rated episode in [0, 1], by its id. Returns of `episodes` are the outcomes that are
    known; scores of turns are left out.
    """
    return scores(_of_episodes(given), how, returns_of(episodes))


def rated_labels(
    given: Iterable[Feedback], episodes: Mapping[str, Trajectory], how: FeedbackConfig
) -> tuple[list[Label], frozenset[str]]:
    """Desirable episodes from `how.high` on, undesirable ones up to `how.low`; those between have no label.
    And the sources that are below chance.
    """
    found = labels(_of_episodes(given), how, returns_of(episodes))
    kept = {name: bool(label) for name, label in sorted(found.values.items())}
    count = sum(kept.values())
    weights = balance(count, len(kept) - count)
    told = [Label(own_part(episodes[name]), good, weights[not good]) for name, good in kept.items()]
    return told, found.below_chance


def _of_episodes(given: Iterable[Feedback]) -> Ratings:
    return of_scores(one for one in given if one.turn is None)
