"""Preferred episodes: the majority of the comparisons of each pair of episodes."""

from collections.abc import Iterable

from agentevol.data.feedback.aggregation.aggregate import preferences
from agentgym_store.feedback.records import Feedback


def majorities(comparisons: Iterable[Feedback]) -> tuple[list[tuple[str, str]], int]:
    """(better, worse) ids of each pair that more sources see so than the other way round, in the order of
    ids; and the number of pairs without a majority. A tie is no vote.
    """
    found = preferences(comparisons)
    return list(found.probability), found.undecided
