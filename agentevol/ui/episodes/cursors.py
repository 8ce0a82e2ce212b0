"""Cursors of a sorted list: the place after, or before, an episode.

A page is found by comparison with the sorted column and the id of the last row, not by counting rows:
episodes that are appended meanwhile neither repeat nor hide a row.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from agentevol.ui.episodes.filters import Filters
from agentevol.ui.errors import BadQuery

Side = Literal["after", "before"]


@dataclass(frozen=True)
class Cursor:
    """Value of the sorted column and id of an episode."""

    value: Any
    id: str

    def text(self) -> str:
        """The cursor in an address."""
        told = json.dumps([self.value, self.id], ensure_ascii=True)
        return base64.urlsafe_b64encode(told.encode()).decode().rstrip("=")


def cursor_of(text: str) -> Cursor:
    """The cursor of an address; raises `BadQuery`."""
    try:
        padded = text + "=" * (-len(text) % 4)
        value, name = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        if not isinstance(name, str) or not isinstance(value, str | int | float | None):
            raise ValueError(text)
    except (ValueError, TypeError, RecursionError):
        raise BadQuery("This page of the list does not exist.", "Start at its first page.") from None
    return Cursor(value, name)


def page_rows(
    frame: pl.LazyFrame, order: Filters, size: int, cursor: Cursor | None = None, side: Side = "after"
) -> pl.LazyFrame:
    """At most `size` rows next to a cursor, in order; episodes without a value come last."""
    backward = side == "before"
    value = pl.col(order.column)
    keys = [value.is_null(), value, pl.col("id")]
    falls = [False, order.descending, order.descending]
    chosen = frame if cursor is None else frame.filter(_beyond(order, cursor, backward))
    rows = chosen.sort(keys, descending=[fall != backward for fall in falls], nulls_last=not backward).head(
        size
    )
    return rows.reverse() if backward else rows


def _beyond(order: Filters, cursor: Cursor, backward: bool) -> pl.Expr:
    """Rows beyond the cursor: by whether there is a value, then by the value, then by id."""
    value, name = pl.col(order.column), pl.col("id")
    falls = order.descending != backward
    next_id = name < cursor.id if falls else name > cursor.id
    if cursor.value is None:
        same = value.is_null() & next_id
        return same | value.is_not_null() if backward else same
    here = pl.lit(cursor.value)
    further = value < here if falls else value > here
    found = (further | ((value == here) & next_id)).fill_null(False)
    return found if backward else found | value.is_null()
