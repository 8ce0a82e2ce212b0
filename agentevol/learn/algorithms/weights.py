"""Rules that turn returns into weights of rows, at least 0 (reward-weighted cloning).

Returns [1, 0, 1, 0.5] of two groups [a, a, b, b] give with temperature 0.5

    binary, threshold 1   1     0     1     0
    reward                1     0     1     0.5
    softmax               1.76  0.24  1.46  0.54
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from agentevol.errors import ConfigError

Floats = NDArray[np.float64]


def binary(returns: Sequence[float], *, threshold: float = 0.999) -> Floats:
    """1 where the return reaches `threshold`, else 0: filtered behaviour cloning."""
    return (_finite(returns) >= threshold).astype(np.float64)


def reward(returns: Sequence[float], *, minimum: float = 0.0) -> Floats:
    """How far each return lies above `minimum`, the lowest return of the environment; never below 0."""
    return np.maximum(_finite(returns) - minimum, 0.0)


def softmax(returns: Sequence[float], groups: Sequence[Hashable], *, temperature: float = 0.5) -> Floats:
    """G exp(return / temperature) / sum over the group of G rows, so that each group's weights sum to G.

    A temperature towards 0 keeps the best of a group, a high one gives all the weight 1. `groups` names the
    group of each return. Raises `ConfigError` for a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ConfigError(f"softmax weights need a temperature above 0, not {temperature}")
    values = _finite(returns)
    if len(values) != len(groups):
        raise ConfigError(f"{len(values)} returns but {len(groups)} group names")
    members: dict[Hashable, list[int]] = {}
    for index, group in enumerate(groups):
        members.setdefault(group, []).append(index)
    weights = np.empty_like(values)
    for indices in members.values():
        powers = np.exp((values[indices] - values[indices].max()) / temperature)
        weights[indices] = len(indices) * powers / powers.sum()
    return weights


def effective_sample_size(weights: Sequence[float] | Floats) -> float:
    """(sum w)^2 / sum w^2: how many equally weighted rows would tell as much; 0 where all weights are 0.

    Raises `ConfigError` for negative weights.
    """
    values = _finite(weights)
    if (values < 0).any():
        raise ConfigError(f"weights are at least 0, not {values.min()}")
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / squares if squares > 0 else 0.0


def _finite(values: Sequence[float] | Floats) -> Floats:
    """The values as an array; raises `ConfigError` where one is not finite: a failed judge is no return."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        raise ConfigError("a return or weight is not finite; leave out rows that nobody scored")
    return array
