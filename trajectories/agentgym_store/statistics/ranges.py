"""Ranges of numbers by which episodes are grouped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import polars as pl

from agentgym_store.records import SUCCESS


@dataclass(frozen=True)
class Ranges:
    """Ranges in ascending order, each with a condition and a label; the first condition that holds counts."""

    parts: tuple[tuple[pl.Expr, str], ...]

    @property
    def labels(self) -> list[str]:
        """All labels in order."""
        return [label for _, label in self.parts]

    def label(self) -> pl.Expr:
        """The label of a row."""
        return pl.coalesce(pl.when(condition).then(pl.lit(label)) for condition, label in self.parts)


def _up_to(column: str, bounds: Sequence[int]) -> Iterator[tuple[pl.Expr, str]]:
    """The first bound, the numbers up to each other bound, and those over the last: 0, 1 to 64, over 64."""
    value = pl.col(column)
    yield value <= bounds[0], str(bounds[0])
    for low, high in pairwise(bounds):
        yield value <= high, str(high) if high == low + 1 else f"{low + 1:,} to {high:,}"
    yield value > bounds[-1], f"over {bounds[-1]:,}"


def _returns() -> Iterator[tuple[pl.Expr, str]]:
    value = pl.col("total_reward")
    yield value.is_null(), "none"
    yield value.is_nan(), "not a number"
    yield value < 0, "below 0"
    yield value == 0, "0"
    for low, high in pairwise((0, 0.25, 0.5, 0.75)):
        yield value < high, f"{low:g} to {high:g}"
    yield value < SUCCESS, "0.75 to 1"
    yield value <= 2 - SUCCESS, "1"
    yield value > 2 - SUCCESS, "above 1"


RANGES = {
    "reward": Ranges(tuple(_returns())),
    "turns": Ranges(tuple(_up_to("turn_count", [0, *(2**power for power in range(11))]))),
    "tokens": Ranges(tuple(_up_to("sampled_tokens", [0, *(4**power for power in range(3, 10))]))),
}
"""Ranges of the return, of the number of turns, and of the number of sampled tokens."""
