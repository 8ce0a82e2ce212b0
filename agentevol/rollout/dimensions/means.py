"""Mean scores by dimension."""

from collections.abc import Iterable
from typing import NamedTuple

from agentevol.core.summaries import MeanScore
from agentevol.rollout.dimensions.clusters import clustered_mean
from agentevol.rollout.dimensions.scores import OVERALL, Scores, cluster_of, scores_of
from agentgym_store.records import Trajectory


class Scored(NamedTuple):
    """Scores of an agent in an episode, and the cluster of episodes that are not independent of it."""

    cluster: str
    scores: Scores


def dimension_means(scored: Iterable[Scored]) -> dict[str, MeanScore]:
    """Mean of each dimension over the episodes in which it was scored, in the order in which they are told,
    `OVERALL` last; `n` is 0 where none was.
    """
    found = list(scored)
    names = list(dict.fromkeys(name for one in found for name in one.scores))
    names.sort(key=OVERALL.__eq__)
    return {name: _mean(found, name) for name in names}


def dimensions_of(trajectories: Iterable[Trajectory]) -> dict[str, MeanScore]:
    """`dimension_means` of episodes; {} where none tells dimensions."""
    told = ((one, scores_of(one)) for one in trajectories)
    return dimension_means(Scored(cluster_of(one), scores) for one, scores in told if scores is not None)


def _mean(scored: Iterable[Scored], name: str) -> MeanScore:
    given = [(one.scores.get(name), one.cluster) for one in scored]
    known = [(score, cluster) for score, cluster in given if score is not None]
    return clustered_mean([score for score, _ in known], [cluster for _, cluster in known])
