"""Combination of ensemble members and objectives into one score, conservative where the members disagree.

Members [1, 2, 3] of one sample, already standardised, give

    mean   2
    min    1
    lcb    2 - 1 * 1       mean - kappa * std, with kappa 1
    uwo    2 - 0.1 * 1^2   mean - penalty * variance, with penalty 0.1

as in Coste et al., 2023 (arXiv:2310.02743). Higher is better everywhere: a cost gets a negative weight.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]
Combination = Literal["mean", "min", "lcb", "uwo"]

ALMOST_CONSTANT = 1e-8
"""Relative standard deviation below which scores count as constant and are only centred: rounding noise."""


@dataclass(frozen=True)
class Standard:
    """Mean and spread of each score over a reference set, or over all samples so far."""

    count: int
    mean: Floats
    """Means, in the shape of one sample's scores."""
    squares: Floats
    """Sum of squared distances from the mean, in the same shape."""

    @staticmethod
    def of(scores: Floats) -> "Standard":
        """Statistics of a reference set; the first axis is the samples. Raises `ConfigError` where it is
        empty.
        """
        if len(scores) == 0:
            raise ConfigError("scores cannot be standardised on an empty reference set")
        mean = scores.mean(axis=0)
        return Standard(len(scores), mean, ((scores - mean) ** 2).sum(axis=0))

    def seen(self, scores: Floats) -> "Standard":
        """Return the statistics with these samples added (Chan et al., 1979)."""
        if len(scores) == 0:
            return self
        new = Standard.of(scores)
        count, step = self.count + new.count, new.mean - self.mean
        return Standard(
            count,
            self.mean + step * new.count / count,
            self.squares + new.squares + step**2 * (self.count * new.count / count),
        )

    def standardised(self, scores: Floats) -> Floats:
        """`scores` on the scale on which the reference has mean 0 and standard deviation 1 (ddof 0)."""
        spread = np.sqrt(self.squares / self.count)
        noise = spread <= ALMOST_CONSTANT * np.maximum(1.0, np.abs(self.mean))
        return (scores - self.mean) / np.where(noise, 1.0, spread)


def spread(scores_K: Floats) -> Floats:
    """Standard deviation over the members, the last axis, with ddof 1; 0 for a single member."""
    if scores_K.shape[-1] == 1:
        return np.zeros(scores_K.shape[:-1])
    return scores_K.std(axis=-1, ddof=1)


def combined(
    scores_K: Floats, combination: Combination = "lcb", *, kappa: float = 1.0, penalty: float = 0.1
) -> Floats:
    """Combine the members' scores, the last axis, into one; they have to be standardised before.

    `kappa` belongs to `lcb`, `penalty` to `uwo`. Raises `ConfigError` for negative ones, which would reward
    disagreement.
    """
    if kappa < 0 or penalty < 0:
        raise ConfigError(f"kappa and penalty are at least 0, not {kappa} and {penalty}")
    mean = scores_K.mean(axis=-1)
    if combination == "min":
        return scores_K.min(axis=-1)
    if combination == "lcb":
        return mean - kappa * spread(scores_K)
    if combination == "uwo":
        return mean - penalty * spread(scores_K) ** 2
    return mean


def normalised(weights: Sequence[float]) -> Floats:
    """Weights of the objectives, scaled so that absolute values sum to 1; costs have negative ones."""
    values = np.asarray(weights, dtype=np.float64)
    total = float(np.abs(values).sum())
    if not (np.isfinite(total) and total > 0):
        raise ConfigError(f"weights of objectives are finite and not all 0, unlike {list(weights)}")
    return values / total


def memberwise(
    scores_DK: Floats,
    weights: Sequence[float],
    combination: Combination = "lcb",
    *,
    kappa: float = 1.0,
    penalty: float = 0.1,
) -> Floats:
    """One score from D objectives and K members, the last two axes: each member weighs its objectives first.

    So errors of a member that are correlated between objectives count.
    """
    scores_K = np.einsum("...dk,d->...k", scores_DK, normalised(weights))
    return combined(scores_K, combination, kappa=kappa, penalty=penalty)


def independent(scores_DK: Floats, weights: Sequence[float], *, kappa: float = 1.0) -> Floats:
    """Combined score under independent errors of the objectives: sum w mean - kappa sqrt(sum w^2 std^2)."""
    weights_D = normalised(weights)
    error = np.sqrt((weights_D**2 * spread(scores_DK) ** 2).sum(axis=-1))
    return scores_DK.mean(axis=-1) @ weights_D - kappa * error
