"""Rules that turn returns into weights of episodes, at least 0 (reward-weighted cloning).

Returns [1, 0, 1, 0.5] of two groups [a, a, b, b] give with temperature 0.5

    binary, threshold 1   1     0     1     0
    reward                1     0     1     0.5
    softmax               1.76  0.24  1.46  0.54
    advantage, beta 1     1.65  0.61  1.28  0.78
    rank                  2     0     2     0
"""

from collections.abc import Hashable, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from agentevol.core.algorithms.options import Finite, Positive
from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]

EQUAL = 1e-8
"""Tolerance of equal returns: sums of equal rewards differ in the last digits."""


def binary(returns: Sequence[float], *, threshold: Finite = 0.999) -> Floats:
    """1 where the return reaches `threshold`, else 0: filtered behaviour cloning."""
    return (_finite(returns) >= threshold).astype(np.float64)


def reward(returns: Sequence[float], *, minimum: Finite = 0.0) -> Floats:
    """Each return above `minimum`, the lowest return of the environment; never below 0."""
    return np.maximum(_finite(returns) - minimum, 0.0)


def softmax(returns: Sequence[float], groups: Sequence[Hashable], *, temperature: Positive = 0.5) -> Floats:
    """G exp(return / temperature) / sum over the group of G episodes, so that each group's weights sum to G.

    A temperature towards 0 keeps the best of a group, a high one gives every episode the weight 1. `groups`
    has the group of each return. Raises `ConfigError` for a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ConfigError(f"softmax weights need a temperature above 0, not {temperature}")
    values, weights = _grouped(returns, groups)
    for rows in members(groups):
        powers = np.exp((values[rows] - values[rows].max()) / temperature)
        weights[rows] = len(rows) * powers / powers.sum()
    return weights


def advantage(
    returns: Sequence[float], groups: Sequence[Hashable], *, beta: Positive = 1.0, max_weight: Positive = 20.0
) -> Floats:
    """exp((return - mean of the group) / beta), at most `max_weight`: advantage-weighted regression (Peng et
    al., 2019, arXiv:1910.00177). Raises `ConfigError` unless both settings are above 0.
    """
    if not (beta > 0 and max_weight > 0):
        raise ConfigError(f"advantage weights need beta and max_weight above 0, not {beta} and {max_weight}")
    values, weights = _grouped(returns, groups)
    for rows in members(groups):
        above = (values[rows] - values[rows].mean()) / beta
        weights[rows] = np.exp(np.minimum(above, log(max_weight)))  # bounded first, against overflow
    return weights


def rank(returns: Sequence[float], groups: Sequence[Hashable]) -> Floats:
    """2 rank / (G - 1) with ranks 0 (worst) to G - 1 in each group, so that its mean weight is 1.

    Equal returns (to 1e-8) share their mean rank; an episode alone in its group has weight 1.
    """
    values, weights = _grouped(returns, groups)
    for rows in members(groups):
        above = values[rows][:, None] - values[rows][None, :]
        better, tied = (above > EQUAL).sum(axis=1), (np.abs(above) <= EQUAL).sum(axis=1) - 1
        weights[rows] = 2 * (better + tied / 2) / (len(rows) - 1) if len(rows) > 1 else 1.0
    return weights


def members(groups: Sequence[Hashable]) -> list[list[int]]:
    """Indices of each group, groups in the order in which they first appear."""
    found: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        found.setdefault(group, []).append(index)
    return list(found.values())


def effective_sample_size(weights: Sequence[float] | Floats) -> float:
    """(sum w)^2 / sum w^2: the equivalent number of equally weighted episodes; 0 where all weights are 0.

    Raises `ConfigError` for negative weights.
    """
    values = _finite(weights)
    if (values < 0).any():
        raise ConfigError(f"weights are at least 0, not {values.min()}")
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else 0.0


def _grouped(returns: Sequence[float], groups: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """The returns, and an uninitialised array for their weights."""
    values = _finite(returns)
    if len(values) != len(groups):
        raise ConfigError(f"{len(values)} returns but {len(groups)} group names")
    return values, np.empty_like(values)


def _finite(values: Sequence[float] | Floats) -> Floats:
    """The values as an array; raises `ConfigError` where one is not finite: a failed judge gives no
    return.
    """
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ConfigError("a return or weight is not finite; leave out sequences without a score")
    return array
