"""One page of a list of episodes, and the neighbours of an episode in a list."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from agentevol.ui.context import Context
from agentevol.ui.episodes.cursors import Cursor, Side, page_rows
from agentevol.ui.episodes.endings import ENDING
from agentevol.ui.episodes.facets import Facets, facets
from agentevol.ui.episodes.filters import Filters
from agentevol.ui.episodes.search import Search
from agentevol.ui.library import Source
from agentevol.ui.pages import address
from agentevol.ui.tables import Snapshot, collected
from agentgym_store.feedback.about import WANTED, Wanted, episodes_with

COLUMNS = (
    *("id", "iteration", "purpose", "env", "split", "kind", "difficulty", "task_id", "instruction", "policy"),
    *("attempt", "seat", "total_reward", "succeeded", "turn_count", "sampled_tokens", "started_at", "wall_s"),
)
"""Columns of a row, beside its ending."""


@dataclass(frozen=True)
class EpisodeRow:
    """One line of the list."""

    href: str
    values: dict[str, Any]
    """`COLUMNS` and `ending`."""
    outcome: str
    """`won`, `lost` or `none`."""


@dataclass(frozen=True)
class SearchState:
    """Progress of a search in the turns."""

    is_complete: bool
    seen: int
    total: int
    found: int


@dataclass(frozen=True)
class EpisodePage:
    """A page of a list."""

    rows: tuple[EpisodeRow, ...]
    matching: int
    """Episodes in the whole list."""
    total: int
    """Episodes in the table."""
    next: Cursor | None
    previous: Cursor | None
    facets: Facets
    search: SearchState | None
    """None where no turns are read."""


@dataclass(frozen=True)
class Neighbours:
    """Ids of the episodes before and after one in a list; None at an end."""

    previous: str | None
    next: str | None


def episode_page(
    context: Context, source: Source, filters: Filters, cursor: Cursor | None, side: Side
) -> EpisodePage:
    """A page of the episodes that match. Raises `StoreError`, `NotFound` where there is no table."""
    everything = context.tables.snapshot(source)
    counted = context.facets.get(everything.name, lambda: facets(everything))
    frame, search = _matching(context, source, filters)
    size = context.settings.page_size
    rows = _rows(frame, page_rows(frame, filters, size + 1, cursor, side))
    shown, before, after = _cut(rows, size, cursor, side)
    return EpisodePage(
        tuple(_row(source, filters, row) for row in shown),
        collected(frame.select(pl.len())).item(),
        sum(count for _, count in counted["purpose"]),
        _cursor(shown[-1], filters) if shown and after else None,
        _cursor(shown[0], filters) if shown and before else None,
        counted,
        search,
    )


def neighbours(context: Context, source: Source, filters: Filters, row: dict[str, Any]) -> Neighbours:
    """The episodes beside one, whose `COLUMNS` are given, in the list of these filters."""
    frame, _ = _matching(context, source, filters, seconds=0.0)
    here = _cursor(row, filters)
    pages = [
        page_rows(frame.select("id", filters.column), filters, 1, here, side) for side in ("before", "after")
    ]
    found = [collected(one)["id"].to_list() for one in pages]
    return Neighbours(*(ids[0] if ids else None for ids in found))


def _matching(
    context: Context, source: Source, filters: Filters, seconds: float | None = None
) -> tuple[pl.LazyFrame, SearchState | None]:
    """The matching episodes, and how far a search for them has come."""
    snapshot = context.tables.snapshot(source, filters.where())
    frame = _with_feedback(context, source, filters, snapshot.frame.filter(filters.rest()))
    if not filters.reads_turns:
        return frame, None
    search = context.searches.find(snapshot, filters)
    search.advance(context.settings.search_s if seconds is None else seconds)
    # many ids are joined in a tenth of the time that a membership test takes
    found = pl.LazyFrame({"id": sorted(search.ids)}, schema={"id": pl.String})
    return frame.join(found, on="id", how="semi"), _state(search, snapshot)


def _with_feedback(context: Context, source: Source, filters: Filters, frame: pl.LazyFrame) -> pl.LazyFrame:
    """The episodes about which opinions of the wanted kind stand."""
    if filters.feedback is None:
        return frame
    wanted: Wanted = next(one for one in WANTED if one == filters.feedback)
    ids = sorted(episodes_with(context.feedback.standing(source), wanted))
    found = pl.LazyFrame({"id": ids}, schema={"id": pl.String})
    return frame.join(found, on="id", how="anti" if wanted == "none" else "semi")


def _state(search: Search, snapshot: Snapshot) -> SearchState:
    total = search.seen if search.is_complete else collected(snapshot.frame.select(pl.len())).item()
    return SearchState(search.is_complete, search.seen, total, len(search.ids))


def _rows(frame: pl.LazyFrame, chosen: pl.LazyFrame) -> list[dict[str, Any]]:
    """The chosen rows in order. Rows are chosen by the columns of the filter and the order alone, and the
    others are read for these rows only.
    """
    ids = collected(chosen.select("id"))["id"].to_list()
    found = collected(frame.filter(pl.col("id").is_in(ids)).select(*COLUMNS, ENDING)).rows(named=True)
    by_id = {row["id"]: row for row in found}
    return [by_id[name] for name in ids]


def _cut(
    rows: list[dict[str, Any]], size: int, cursor: Cursor | None, side: Side
) -> tuple[list[dict[str, Any]], bool, bool]:
    """The rows of the page, and whether there are some before and after it. One row more than a page was
    read.
    """
    more = len(rows) > size
    if side == "before":
        return rows[-size:], more, cursor is not None
    return rows[:size], cursor is not None, more


def _cursor(row: dict[str, Any], filters: Filters) -> Cursor:
    return Cursor(row[filters.column], row["id"])


def _row(source: Source, filters: Filters, row: dict[str, Any]) -> EpisodeRow:
    won = row["succeeded"]
    outcome = "none" if won is None else "won" if won else "lost"
    href = address("episodes", source.key, "one", **filters.query(id=row["id"]))
    return EpisodeRow(href, row, outcome)
