"""Filters of episodes.

Where(iteration=3, ending="terminated", min_reward=0.5)
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Where:
    """Filter of episodes: every filter that is not None must hold."""

    run: str | None = None
    iteration: int | None = None
    purpose: str | None = None
    ending: str | None = None
    env: str | None = None
    split: str | Collection[str] | None = None
    """One split, or several."""
    kind: str | None = None
    policy: str | None = None
    task_ids: Collection[str] | None = None
    ids: Collection[str] | None = None
    without_ids: Collection[str] | None = None
    """Episodes that do not match."""
    min_reward: float | None = None
    """Minimum return. An episode without a return is in no range."""
    max_reward: float | None = None

    def terms(self) -> Iterator[tuple[str, list[str | int]]]:
        """Columns, and their matching values."""
        for name in ("run", "iteration", "purpose", "ending", "env", "split", "kind", "policy"):
            value = getattr(self, name)
            if value is not None:
                yield name, [value] if isinstance(value, str | int) else list(value)
        for name, values in (("task_id", self.task_ids), ("id", self.ids)):
            if values is not None:
                yield name, list(values)

    def columns(self) -> set[str]:
        """Columns that the filter reads."""
        bounded = self.min_reward is not None or self.max_reward is not None
        excluded = {"id"} if self.without_ids is not None else set[str]()
        return {name for name, _ in self.terms()} | excluded | ({"total_reward"} if bounded else set())

    def polars(self) -> pl.Expr:
        """The filter for a polars frame."""
        equal = (pl.col(name).is_in(values) for name, values in self.terms())
        return pl.all_horizontal(pl.lit(True), *equal, *self._others(), *self._bounds())

    def _others(self) -> Iterator[pl.Expr]:
        """The condition on episodes that are excluded."""
        if self.without_ids is not None:
            yield ~pl.col("id").is_in(list(self.without_ids))

    def _bounds(self) -> Iterator[pl.Expr]:
        """Comparisons of the return."""
        reward = pl.col("total_reward")
        if self.min_reward is not None:
            yield reward >= self.min_reward
        if self.max_reward is not None:
            yield reward <= self.max_reward


ALL = Where()
