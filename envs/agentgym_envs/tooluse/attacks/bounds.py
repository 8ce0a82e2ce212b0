"""Bounds of the returns of policies: `BOUNDS`, the error that a sample allows, and the standing of a mean."""

import math
from typing import Literal

Bounds = tuple[float, float]
BOUNDS: dict[str, Bounds] = {
    "oracle": (1.0, 1.0),
    "oracle_shuffled": (1.0, 1.0),
    "undo_redo": (1.0, 1.0),
    "always_refuse": (0.0, 0.03),
    "constant_answer": (0.0, 0.05),
    "schema_dump": (0.0, 0.05),
    "random_calls": (0.0, 0.02),
}
"""Mean returns that a policy may have; 0 for others. An environment's `attack_bounds` come first."""
STRICT_BOUNDS: dict[str, Bounds] = {"undo_redo": (0.0, 0.0)}
"""The bounds of environments with `strict_history`."""
ERRORS = 3
"""Standard errors by which the mean of a sample may lie beyond its bounds."""
ROUNDING = 1e-9
"""Of the sum of the rewards of an episode."""

Status = Literal["ok", "within error", "failed", "not played"]
"""`within error`: the mean lies beyond its bounds, but for so few episodes this may be chance."""


def standard_error(low: float, high: float, count: int) -> float:
    """Standard error of the mean of `count` returns of 0 or 1 whose true mean is `low` or `high`; 0 where
    these are 0 and 1, for then no other return is allowed.
    """
    variance = max(mean * (1 - mean) for mean in (low, high))
    return math.sqrt(variance / max(1, count))


def is_within(mean: float, low: float, high: float, error: float = 0.0) -> bool:
    """True if a mean lies within its bounds, or at most `ERRORS` times `error` beyond; beyond 0 none does."""
    slack = ERRORS * error + ROUNDING
    return low - slack <= mean <= (high + slack if high else 0.0)


def status_of(mean: float, low: float, high: float, count: int, *, violated: bool) -> Status:
    """Status of a policy."""
    if violated:
        return "failed"
    if not count:
        return "not played"
    return "ok" if is_within(mean, low, high) else "within error"
