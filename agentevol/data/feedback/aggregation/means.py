"""Aggregation without a model of the sources: mean, weighted mean, and a pessimistic mean.

Ratings 0.4 and 0.8 of one item, weights 3 and 1, kappa 1:

    mean          0.6
    weighted      (3 * 0.4 + 1 * 0.8) / 4 = 0.5
    pessimistic   0.6 - 1 * 0.283 = 0.317      the standard deviation with ddof 1
"""

import numpy as np

from agentevol.data.feedback.aggregation.ratings import Floats, Ratings


def mean(found: Ratings) -> Floats:
    """(I,) mean rating of each item."""
    return found.by_item(found.value_N) / found.by_item()


def weighted(found: Ratings, weight_J: Floats) -> Floats:
    """(I,) weighted mean of each item; NaN where only sources of weight 0 rated it."""
    weight_N = weight_J[found.source_N]
    total_I = found.by_item(weight_N)
    known_I = total_I > 0
    return np.where(
        known_I, found.by_item(weight_N * found.value_N) / np.where(known_I, total_I, 1.0), np.nan
    )


def pessimistic(found: Ratings, kappa: float, sigma_J: Floats) -> Floats:
    """(I,) mean less `kappa` times the standard deviation over sources (ddof 1); of an item with one source,
    less `kappa` times that source's own `sigma_J`.
    """
    count_I, mean_I = found.by_item(), mean(found)
    squares_I = found.by_item((found.value_N - mean_I[found.item_N]) ** 2)
    several_I = np.sqrt(squares_I / np.maximum(count_I - 1, 1))
    own_I = found.by_item(sigma_J[found.source_N])  # the sum over the only source
    return mean_I - kappa * np.where(count_I > 1, several_I, own_I)
