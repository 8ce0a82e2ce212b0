"""Loads of the comparison with vLLM: models of two sizes, and episodes for each."""

from dataclasses import dataclass
from typing import Literal

from agentevol.cli.benchmarks.rollout.embedded import SHAPE, Shape

Size = Literal["small", "large"]


@dataclass(frozen=True)
class Load:
    """Episodes of one environment."""

    world: str
    latency_s: float
    """Seconds of a step."""
    turns: tuple[int, int]
    episodes: int
    in_flight: int
    """Episodes in flight: `engine.episodes` of a run."""


@dataclass(frozen=True)
class Case:
    """A model, and the loads played with it."""

    shape: Shape
    loads: tuple[Load, ...]
    runs: int


CASES: dict[Size, Case] = {
    "small": Case(
        SHAPE,
        (
            Load("instant", 0.0, (8, 12), 768, 128),
            Load("50 ms", 0.05, (8, 12), 768, 160),
            Load("2 s", 2.0, (4, 6), 4096, 1024),
        ),
        2,
    ),
    "large": Case(
        Shape(hidden=640, layers=12, heads=10, kv_heads=2, intermediate=1792),
        (
            Load("instant", 0.0, (8, 12), 128, 64),
            Load("50 ms", 0.05, (8, 12), 128, 64),
            Load("2 s", 2.0, (4, 6), 512, 128),
        ),
        2,
    ),
}
"""Enough episodes in flight to keep the slots busy while others wait for their environments, and enough
episodes in total that the last ones, which nothing follows, are few. The large model takes some ten times as
long for a turn: with as many episodes as the other it would run for hours.
"""
