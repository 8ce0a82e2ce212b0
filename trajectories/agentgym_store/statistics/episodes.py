"""Statistics of episodes, of all and by groups."""

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl
from pydantic import Field

from agentgym_envs.core import Record
from agentgym_store.errors import StoreError, one_line
from agentgym_store.statistics.modes import ModeGroup, mode_groups
from agentgym_store.statistics.ranges import RANGES
from agentgym_store.statistics.sums import OF_EPISODES, Sums, ratio

_CHUNK = 2**16
"""Episodes in memory at a time."""
_COLUMNS = ("ending", "purpose", "iteration", "env", "kind", "difficulty")
BREAKDOWNS = (*_COLUMNS, *RANGES)
"""Breakdowns by the values of a column, then by ranges of the return, of the turns and of the tokens."""


class Group(Record):
    """Statistics of a group of episodes. Rates and rewards are over the scored ones, turns and tokens over
    all.
    """

    episodes: int
    endings: dict[str, int]
    """Episodes by ending; they add up to `episodes`."""
    scored: int
    """Episodes with a return: terminated or truncated."""
    successes: int
    success_rate: float | None
    """`successes / scored`; None without scored episodes."""
    mean_reward: float | None
    """Mean return; None without scored episodes, or if a return is not finite."""
    mean_turns: float | None
    mean_sampled_tokens: float | None
    sampled_tokens: int


class Statistics(Record):
    """Statistics of all episodes, and of the groups of each breakdown."""

    total: Group
    by: dict[str, dict[str, Group]]
    """Breakdown (`BREAKDOWNS`) -> value as text -> statistics; iterations and ranges ascend, all others are
    alphabetical.
    """
    modes: dict[str, ModeGroup] = Field(default_factory=dict[str, ModeGroup])
    """Thinking mode, -1 for malformed replies -> statistics; empty where no turn has a mode."""


def statistics(frame: pl.LazyFrame | pl.DataFrame, turns: Iterable[pl.DataFrame] = ()) -> Statistics:
    """Statistics of the rows of `Store.scan`, and of the thinking modes of `Store.turns(MODE_COLUMNS)`.

    Raises `StoreError` if they cannot be read.
    """
    wanted = [*_COLUMNS, "total_reward", "succeeded", "turn_count", "sampled_tokens"]
    sums = {name: Sums(["value", "ending"]) for name in BREAKDOWNS}
    for chunk in _chunks(frame.lazy().select(wanted)):
        for name, summed in sums.items():
            key = RANGES[name].label() if name in RANGES else pl.col(name)
            summed.add(chunk.group_by(value=key, ending="ending").agg(**_SUMS))
    everything = _no_sums() if sums["ending"].frame is None else sums["ending"].frame
    return Statistics(
        total=_group(everything),
        by={name: dict(_groups(name, summed.frame)) for name, summed in sums.items()},
        modes=mode_groups(turns),
    )


_SUMS = {**OF_EPISODES, "turns": pl.col("turn_count").sum(), "tokens": pl.col("sampled_tokens").sum()}


def _chunks(frame: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    try:
        yield from frame.collect_batches(chunk_size=_CHUNK, maintain_order=False)
    except (pl.exceptions.PolarsError, OSError) as cause:
        raise StoreError(f"cannot read the table of trajectories: {one_line(cause)}") from cause


def _groups(name: str, sums: pl.DataFrame | None) -> Iterator[tuple[str, Group]]:
    """Groups of a breakdown in order."""
    if sums is None:
        return
    values = sums["value"].unique().sort().to_list()
    if name in RANGES:
        values.sort(key=RANGES[name].labels.index)
    for value in values:
        yield str(value), _group(sums.filter(pl.col("value") == value))


def _no_sums() -> pl.DataFrame:
    return pl.DataFrame(schema={"value": pl.String, "ending": pl.String} | dict.fromkeys(_SUMS, pl.Int64))


def _group(sums: pl.DataFrame) -> Group:
    """The group of some rows of sums by value and ending."""
    total: dict[str, Any] = sums.select(*_SUMS).sum().row(0, named=True)
    endings = sums.group_by("ending").agg(pl.col("episodes").sum()).sort("ending").rows()
    return Group(
        episodes=total["episodes"],
        endings={str(ending): int(number) for ending, number in endings},
        scored=total["scored"],
        successes=total["successes"],
        success_rate=ratio(total["successes"], total["scored"]),
        mean_reward=ratio(total["reward"], total["scored"]),
        mean_turns=ratio(total["turns"], total["episodes"]),
        mean_sampled_tokens=ratio(total["tokens"], total["episodes"]),
        sampled_tokens=total["tokens"],
    )
