"""Statistics of turns by thinking mode."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from agentgym_envs.core import Record
from agentgym_store.statistics.sums import OF_EPISODES, Sums, ratio

MODE_COLUMNS = ("id", "given", "mode", "sampled_tokens", "total_reward", "succeeded")
"""Columns of `Store.turns` that `mode_groups` reads."""


class ModeGroup(Record):
    """Statistics of the turns in one thinking mode, given turns left out, and of the episodes with such a
    turn.
    """

    turns: int
    share: float
    """Of all turns with a mode."""
    mean_sampled_tokens: float | None
    """Over these turns; None if no model said them."""
    episodes: int
    scored: int
    success_rate: float | None
    mean_reward: float | None


def mode_groups(turns: Iterable[pl.DataFrame]) -> dict[str, ModeGroup]:
    """Statistics by mode, ascending; -1 is a malformed reply. Empty where no turn has a mode."""
    said, played = Sums(["mode"]), Sums(["mode"])
    for frame in turns:
        rows = frame.filter(pl.col("mode").is_not_null() & ~pl.col("given"))
        if not rows.is_empty():
            said.add(_said(rows))
            played.add(rows.unique(["id", "mode"]).group_by("mode").agg(**OF_EPISODES))
    if said.frame is None or played.frame is None:
        return {}
    rows = said.frame.join(played.frame, on="mode").sort("mode").rows(named=True)
    all_turns = sum(row["turns"] for row in rows)
    return {str(row["mode"]): _group(row, all_turns) for row in rows}


def _said(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.group_by("mode").agg(
        turns=pl.len().cast(pl.Int64),
        samples=pl.col("sampled_tokens").count().cast(pl.Int64),
        tokens=pl.col("sampled_tokens").sum(),
    )


def _group(row: dict[str, Any], all_turns: int) -> ModeGroup:
    return ModeGroup(
        turns=row["turns"],
        share=row["turns"] / all_turns,
        mean_sampled_tokens=ratio(row["tokens"], row["samples"]),
        episodes=row["episodes"],
        scored=row["scored"],
        success_rate=ratio(row["successes"], row["scored"]),
        mean_reward=ratio(row["reward"], row["scored"]),
    )
