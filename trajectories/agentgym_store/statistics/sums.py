"""Sums by keys over a stream of frames."""

import math

import polars as pl

OF_EPISODES = {
    "episodes": pl.len().cast(pl.Int64),
    "scored": pl.col("total_reward").count().cast(pl.Int64),
    "successes": pl.col("succeeded").sum().cast(pl.Int64),
    "reward": pl.col("total_reward").sum(),
}
"""Sums over rows that are episodes."""


class Sums:
    """Sums by keys, to which those of further rows are added; there are as many as different keys."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = keys
        self.frame: pl.DataFrame | None = None
        """A row for each key; None before the first addition."""

    def add(self, sums: pl.DataFrame) -> None:
        """Add sums of further rows."""
        parts = sums if self.frame is None else pl.concat([self.frame, sums])
        self.frame = parts.group_by(self._keys).agg(pl.all().sum())


def ratio(part: float, whole: int) -> float | None:
    """`part / whole`; None if there is nothing to divide by, or if the sum is not finite."""
    return part / whole if whole and math.isfinite(part) else None
