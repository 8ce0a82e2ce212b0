"""Means of probabilities and shares in clusters, with intervals within [0, 1]."""

from collections.abc import Hashable, Sequence

from agentevol.core.summaries import MeanScore
from agentevol.loop.report.intervals import wilson
from agentevol.rollout.dimensions.clusters import clustered_mean


def clustered_proportion(values: Sequence[float], clusters: Sequence[Hashable]) -> MeanScore:
    """Mean of values from 0 to 1, of which those in one cluster are not independent, with its 95 % interval.

    Wilson's where each value is a success or failure in a cluster of its own, else the cluster-robust one
    (`clustered_mean`). Where that has no width, since all clusters agree, or does not exist, since there is
    one cluster alone, it is Wilson's of the number of clusters.
    """
    mean = clustered_mean(values, clusters)
    if mean.mean is None:
        return mean
    if mean.clusters == mean.n and set(values) <= {0, 1}:
        low, high = wilson(round(sum(values)), mean.n)
    elif mean.low is None or mean.low == mean.high:
        low, high = wilson(round(mean.mean * mean.clusters), mean.clusters)
    else:
        return within_unit(mean)
    return mean.model_copy(update={"low": low, "high": high})


def within_unit(score: MeanScore) -> MeanScore:
    """The score with its interval cut to [0, 1]."""
    if score.low is None or score.high is None:
        return score
    return score.model_copy(update={"low": max(0.0, score.low), "high": min(1.0, score.high)})
