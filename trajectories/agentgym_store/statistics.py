"""Statistics over a table's episodes: counts and means.

summary = statistics(store.scan(Where(purpose="explore")))
summary.by["iteration"]["3"].success_rate      # -> 0.41
summary.total.endings                          # -> {"terminated": 70, "truncated": 29, "failed": 1}
"""

from typing import Any

import polars as pl

from agentgym_envs.core import Record
from agentgym_store.errors import StoreError, one_line

BREAKDOWNS = ("ending", "purpose", "iteration", "env", "kind", "difficulty")


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
    """Mean return; None without scored episodes."""
    mean_turns: float | None
    mean_sampled_tokens: float | None
    sampled_tokens: int


class Statistics(Record):
    """Statistics of all episodes, and of the groups of each breakdown."""

    total: Group
    by: dict[str, dict[str, Group]]
    """Breakdown (`BREAKDOWNS`) -> value as text -> statistics; iterations ascend, all others are
    alphabetical.
    """


def statistics(frame: pl.LazyFrame | pl.DataFrame) -> Statistics:
    """Statistics of the rows of `Store.scan`; raises `StoreError` if they cannot be read."""
    wanted = [*BREAKDOWNS, "total_reward", "succeeded", "turn_count", "sampled_tokens"]
    try:
        rows = frame.lazy().select(wanted).collect()
    except (pl.exceptions.PolarsError, OSError) as cause:
        raise StoreError(f"cannot read the table of trajectories: {one_line(cause)}") from cause
    return Statistics(total=_group(rows), by={name: _groups(rows, name) for name in BREAKDOWNS})


def _groups(rows: pl.DataFrame, column: str) -> dict[str, Group]:
    values = rows[column].unique().sort().to_list()
    return {str(value): _group(rows.filter(pl.col(column) == value)) for value in values}


def _group(rows: pl.DataFrame) -> Group:
    scored = rows["total_reward"].drop_nulls()
    successes = int(rows["succeeded"].sum() or 0)
    endings = rows["ending"].value_counts().sort("ending").rows()
    return Group(
        episodes=rows.height,
        endings={str(ending): int(number) for ending, number in endings},
        scored=scored.len(),
        successes=successes,
        success_rate=successes / scored.len() if scored.len() else None,
        mean_reward=_mean(scored),
        mean_turns=_mean(rows["turn_count"]),
        mean_sampled_tokens=_mean(rows["sampled_tokens"]),
        sampled_tokens=int(rows["sampled_tokens"].sum() or 0),
    )


def _mean(numbers: pl.Series) -> float | None:
    mean: Any = numbers.mean()
    return None if mean is None else float(mean)
