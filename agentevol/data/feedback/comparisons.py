"""Preferred episodes: the majority of the comparisons of each pair of episodes."""

from collections.abc import Iterable

from agentgym_store.feedback.records import Comparison, Feedback


def majorities(comparisons: Iterable[Feedback]) -> tuple[list[tuple[str, str]], int]:
    """(better, worse) ids of each pair that more sources see so than the other way round, in the order of
    ids; and the number of pairs without a majority. A tie is no vote.
    """
    pairs: dict[tuple[str, str], int] = {}
    for record in comparisons:
        opinion = record.opinion
        if not isinstance(opinion, Comparison):
            continue
        first, second = sorted((record.trajectory_id, opinion.other))
        sign = {"better": 1, "worse": -1, "tie": 0}[opinion.verdict]
        vote = sign if record.trajectory_id == first else -sign
        pairs[first, second] = pairs.get((first, second), 0) + vote
    found = [
        (first, second) if votes > 0 else (second, first)
        for (first, second), votes in sorted(pairs.items())
        if votes
    ]
    return found, sum(not votes for votes in pairs.values())
