"""Connected sources: those that rated a common item, directly or by way of others."""

import numpy as np

from agentevol.data.feedback.aggregation.ratings import Ints, Ratings


def components(found: Ratings) -> Ints:
    """(J,) number of the connected set of each source: the smallest number of a source in it."""
    order = np.argsort(found.item_N, kind="stable")
    item_N, source_N = found.item_N[order], found.source_N[order]
    same = item_N[1:] == item_N[:-1]
    edges = np.unique(np.stack([source_N[:-1][same], source_N[1:][same]], axis=1), axis=0)
    root = list(range(len(found.sources)))

    def top(source: int) -> int:
        while root[source] != source:
            root[source] = root[root[source]]
            source = root[source]
        return source

    for one, other in edges.tolist():
        first, second = sorted((top(one), top(other)))
        root[second] = first
    return np.array([top(source) for source in range(len(root))], dtype=np.int64)
