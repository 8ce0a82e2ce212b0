"""Forgetting and backward transfer over stages of continual learning.

Success by stage and environment, in the order in which the environments were learnt:

    stage      maze   shop   house
    0          0.80   0.10    0.00
    1          0.70   0.60    0.00
    2          0.50   0.65    0.40

Forgetting at the end: maze 0.80 - 0.50 = 0.30, shop 0.60 - 0.65 = -0.05. Backward transfer: the mean of
0.50 - 0.80 and 0.65 - 0.60.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from agentevol.core.errors import ConfigError

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Fall:
    """Drop of success in a protected environment, and the drop that is allowed."""

    environment: str
    fall: float
    """Mean outcome before less that after."""
    allowed: float

    @property
    def beyond(self) -> bool:
        """True where the drop exceeds what is allowed."""
        return self.fall > self.allowed + 1e-12  # 0.52 - 0.50 is not above 0.02, though it is in binary


def falls(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    points: float = 0.02,
    standard_errors: float = 2.0,
) -> list[Fall]:
    """Drops for which a checkpoint has to be rejected; empty where it may stay (`changes`)."""
    found = changes(before, after, points=points, standard_errors=standard_errors)
    return [one for one in found if one.beyond]


def changes(
    before: Mapping[str, Sequence[float]],
    after: Mapping[str, Sequence[float]],
    *,
    points: float = 0.02,
    standard_errors: float = 2.0,
) -> list[Fall]:
    """Drop of each protected environment, negative where success rose.

    `before` has the outcomes of evaluation episodes in every protected environment, at least 2 of each. The
    allowed drop is the larger of `points` and `standard_errors` times that of the difference of the means.
    Raises `ConfigError` where an environment was not evaluated again, since its drop is unknown.
    """
    found: list[Fall] = []
    for environment, earlier in before.items():
        later = after.get(environment, ())
        if min(len(earlier), len(later)) < 2:
            raise ConfigError(f"{environment} is protected, and needs 2 evaluation episodes before and after")
        fall = float(np.mean(earlier) - np.mean(later))
        allowed = max(points, standard_errors * sqrt(_squared_error(earlier) + _squared_error(later)))
        found.append(Fall(environment, fall, allowed))
    return found


def _squared_error(outcomes: Sequence[float]) -> float:
    return float(np.var(outcomes, ddof=1)) / len(outcomes)


def forgetting(success_SE: Floats) -> Floats:
    """(E,) best earlier stage less the last stage, by environment; NaN where it was never evaluated before.

    `success_SE` has a sequence for each stage and NaN for what was not evaluated.
    """
    earlier, current = success_SE[:-1], success_SE[-1]
    best = np.max(np.nan_to_num(earlier, nan=-np.inf), axis=0, initial=-np.inf)
    return np.where(np.isneginf(best), np.nan, best) - current


def backward_transfer(success_SE: Floats, learnt_at: Sequence[int]) -> float:
    """Mean change from the stage in which an environment was learnt to the last; negative values are
    forgetting.

    Over environments learnt before the last stage (Lopez-Paz and Ranzato, 2017, arXiv:1706.08840, eq. 3);
    NaN where there is none. `learnt_at` gives the stage of each column.
    """
    last = len(success_SE) - 1
    changes = [
        float(success_SE[last, column] - success_SE[stage, column])
        for column, stage in enumerate(learnt_at)
        if stage < last
    ]
    return float(np.mean(changes)) if changes else float("nan")
