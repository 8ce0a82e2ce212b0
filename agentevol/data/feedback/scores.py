"""Labels of rated episodes."""

from collections.abc import Iterable, Mapping
from statistics import fmean

from agentevol.data.groups import own_part
from agentevol.data.preference_pairs import Label, balance
from agentgym_store.feedback.records import Feedback, Score
from agentgym_store.records import Trajectory


def rated(scores: Iterable[Feedback]) -> dict[str, float]:
    """Mean score of each episode in [0, 1]: each score by its scale. Scores of turns are left out."""
    found: dict[str, list[float]] = {}
    for record in scores:
        if isinstance(record.opinion, Score) and record.turn is None:
            found.setdefault(record.trajectory_id, []).append(record.opinion.share)
    return {name: fmean(values) for name, values in sorted(found.items())}


def rated_labels(
    scores: Iterable[Feedback], episodes: Mapping[str, Trajectory], low: float, high: float
) -> list[Label]:
    """Desirable episodes from `high` on, undesirable ones up to `low`; those between have no label."""
    kept = {name: mean >= high for name, mean in rated(scores).items() if mean >= high or mean <= low}
    count = sum(kept.values())
    weights = balance(count, len(kept) - count)
    return [
        Label(own_part(episodes[name]), desirable, weights[not desirable]) for name, desirable in kept.items()
    ]
