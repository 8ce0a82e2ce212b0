"""Conversion between Arrow and polars, typed."""

from typing import Any

import polars as pl


def frame_of(table: Any) -> pl.DataFrame:
    """The frame of a `pyarrow.Table` or `pyarrow.RecordBatch`."""
    frame = pl.from_arrow(table)  # pyright: ignore[reportUnknownMemberType]
    assert isinstance(frame, pl.DataFrame)
    return frame


def arrow_table(frame: pl.DataFrame) -> Any:
    """The `pyarrow.Table` of a frame."""
    untyped: Any = frame
    return untyped.to_arrow()
