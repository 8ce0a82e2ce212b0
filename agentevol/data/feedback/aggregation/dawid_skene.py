"""Labels by several sources: Dawid and Skene (1979, Applied Statistics 28:20-28), by expectation
maximisation.

Each source has a confusion matrix: its probability of saying l where k is true. Two sources that agree on
most items outvote a third that labels at random, and one that mixes up two labels is trusted on the others.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from agentevol.data.feedback.aggregation.ratings import Floats, Ints, Ratings

RIGHT, WRONG = 4.0, 1.0
"""Right and wrong labels that each source begins with where k is true, for each k [house value]."""
MOST_ROUNDS, ENOUGH = 100, 1e-6
SURE = 1.645
"""A source is below chance where the one-sided 95 % bound of its accuracy is."""
LEAST = 1e-12
"""Least probability, so that a label that never occurs has a logarithm."""


@dataclass(frozen=True)
class Labels:
    """Probabilities of labels, and what was learnt of the sources."""

    probability_IK: Floats
    """NaN where only sources of weight 0 labelled the item."""
    prior_K: Floats
    """Share of each label."""
    confusion_JKL: Floats
    below_chance_J: NDArray[np.bool_]
    """Sources whose mean share of right labels is below 1 / K: they have no weight."""

    @property
    def accuracy(self) -> Floats:
        """(J,) mean over labels of the share that the source tells right."""
        return np.diagonal(self.confusion_JKL, axis1=1, axis2=2).mean(axis=1)


def dawid_skene(found: Ratings, labels: int, *, prior: float = 1.0) -> Labels:
    """Probabilities of labels, which are the ratings 0 to `labels` - 1.

    Each row of a confusion matrix begins with `prior` times `RIGHT` right and `WRONG` wrong labels; 0 is the
    paper's maximum likelihood. The worst source below chance is left out until none is, as long as three or
    more remain: of two, nobody can say which one is wrong.
    """
    left_out_J = np.zeros(len(found.sources), dtype=np.bool_)
    while True:
        kept = found.without(left_out_J)
        posterior_IK, prior_K = _fitted(kept, labels, prior)
        result = Labels(posterior_IK, prior_K, _confusion(found, posterior_IK, prior), left_out_J)
        chance, count_J = 1 / labels, np.maximum(found.by_source(), 1)
        excess_J = (result.accuracy - chance) * np.sqrt(count_J / (chance * (1 - chance)))
        open_J = np.where(left_out_J, np.inf, excess_J)
        if (~left_out_J).sum() < 3 or open_J.min() >= -SURE:
            return result
        left_out_J = left_out_J.copy()
        left_out_J[np.argmin(open_J)] = True


def _fitted(found: Ratings, labels: int, prior: float) -> tuple[Floats, Floats]:
    posterior_IK = majority(found, labels)
    prior_K, confusion_JKL = maximised(found, posterior_IK, prior)
    for _ in range(MOST_ROUNDS):
        new_IK = expected(found, prior_K, confusion_JKL)
        moved = np.nanmax(np.abs(new_IK - posterior_IK), initial=0.0)
        posterior_IK = new_IK
        prior_K, confusion_JKL = maximised(found, posterior_IK, prior)
        if moved < ENOUGH:
            break
    return posterior_IK, prior_K


def majority(found: Ratings, labels: int) -> Floats:
    """(I, K) share of the ratings of an item that give it each label; NaN without a rating."""
    size = len(found.items)
    counts_IK = np.bincount(found.item_N * labels + _labels(found), minlength=size * labels)
    counts_IK = counts_IK.reshape(size, labels).astype(np.float64)
    total_I = counts_IK.sum(axis=1, keepdims=True)
    return np.where(total_I > 0, counts_IK / np.maximum(total_I, 1), np.nan)


def maximised(found: Ratings, posterior_IK: Floats, prior: float) -> tuple[Floats, Floats]:
    """(K,) shares of the labels and (J, K, L) confusion matrices (equations 2.3 and 2.4)."""
    return np.nanmean(posterior_IK, axis=0), _confusion(found, posterior_IK, prior)


def _confusion(found: Ratings, posterior_IK: Floats, prior: float) -> Floats:
    labels, sources = posterior_IK.shape[1], len(found.sources)
    known = np.isfinite(posterior_IK[found.item_N, 0])
    place_N = (found.source_N * labels + _labels(found))[known]
    weight_NK = posterior_IK[found.item_N[known]]
    counts_JKL = np.stack(
        [
            np.bincount(place_N, weight_NK[:, k], sources * labels).reshape(sources, labels)
            for k in range(labels)
        ],
        axis=1,
    )
    counts_JKL = counts_JKL + prior * np.where(np.eye(labels, dtype=np.bool_), RIGHT, WRONG / (labels - 1))
    total_JK = counts_JKL.sum(axis=2, keepdims=True)
    return np.where(total_JK > 0, counts_JKL / np.where(total_JK > 0, total_JK, 1.0), 1 / labels)


def expected(found: Ratings, prior_K: Floats, confusion_JKL: Floats) -> Floats:
    """(I, K) probabilities of the labels (equation 2.5); NaN without a rating."""
    said_NK = np.log(np.maximum(confusion_JKL, LEAST))[found.source_N, :, _labels(found)]
    columns = [found.by_item(said_NK[:, k]) for k in range(len(prior_K))]
    log_IK = np.stack(columns, axis=1) + np.log(np.maximum(prior_K, LEAST))
    log_IK -= log_IK.max(axis=1, keepdims=True)
    posterior_IK = np.exp(log_IK)
    posterior_IK /= posterior_IK.sum(axis=1, keepdims=True)
    return np.where(found.by_item()[:, None] > 0, posterior_IK, np.nan)


def _labels(found: Ratings) -> Ints:
    return found.value_N.astype(np.int64)
