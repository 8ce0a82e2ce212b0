"""A table of cells with notes and merged ranges. Rows and columns count from 1; every cell holds text.

> grid = Grid([["a", "b"], ["1", "2"]])
> grid.insert_row(["3"], 2); grid.cells
[['a', 'b'], ['3', ''], ['1', '2']]
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agentgym_envs.tooluse import ToolError

MOST_ROWS, MOST_COLUMNS, LONGEST_CELL = 200, 30, 500
POSITION = re.compile(r"([A-Za-z]{1,2})([1-9][0-9]{0,3})", re.ASCII)
NUMBER = re.compile(r"[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})", re.ASCII)
Cells = list[list[str]]
Range = tuple[int, int, int, int]
"""First row, first column, last row, last column."""


@dataclass
class Grid:
    """Cells of equal rows, their notes, and merged ranges."""

    cells: Cells
    notes: Cells = field(default_factory=list[list[str]])
    merged: list[Range] = field(default_factory=list[Range])
    frozen: int = 0
    """Number of rows that sorting leaves at the top."""

    def __post_init__(self) -> None:
        self.notes = self.notes or [[""] * self.columns for _ in self.cells]

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.cells)

    @property
    def columns(self) -> int:
        """Number of columns."""
        return len(self.cells[0]) if self.cells else 0

    def copy(self) -> "Grid":
        """A table that later changes of this one leave as it is."""
        cells, notes = (list(map(list, layer)) for layer in (self.cells, self.notes))
        return Grid(cells, notes, list(self.merged), self.frozen)

    def as_json(self) -> dict[str, Any]:
        """The content, without what is only for display."""
        notes = [
            [row + 1, column + 1, note]
            for row, line in enumerate(self.notes)
            for column, note in enumerate(line)
            if note
        ]
        return {
            "cells": [list(row) for row in self.cells],
            "notes": notes,
            "merged": sorted(map(list, self.merged)),
        }

    def place(self, position: str) -> tuple[int, int]:
        """Row and column of a position such as `B3`, from 0; raises `ToolError` for one outside."""
        row, column = parsed(position)
        if row > self.rows or column > self.columns:
            raise ToolError(f"Error: {position[:20]} is outside of the sheet", argument="position")
        return row - 1, column - 1

    def area(self, start: str, end: str) -> Range:
        """The range between two positions, from 0; raises `ToolError`."""
        (row1, column1), (row2, column2) = self.place(start), self.place(end)
        if row1 > row2 or column1 > column2:
            raise ToolError("Error: start_position should be above and left of end_position")
        return row1, column1, row2, column2

    def insert_row(self, values: Sequence[Any], row: int) -> None:
        """Insert a row before the one with this number, or after the last."""
        _check(self.rows < MOST_ROWS, "the sheet is full")
        _check(1 <= row <= self.rows + 1, "row_idx is outside of the sheet")
        _check(len(values) <= self.columns, "there are more values than columns")
        self.cells.insert(row - 1, _padded([text_of(one) for one in values], self.columns))
        self.notes.insert(row - 1, [""] * self.columns)
        self._shift(0, row - 1, 1)

    def insert_column(self, values: Sequence[Any], column: int) -> None:
        """Insert a column before the one with this number, or after the last."""
        _check(self.columns < MOST_COLUMNS, "the sheet is full")
        _check(1 <= column <= self.columns + 1, "col_idx is outside of the sheet")
        _check(len(values) <= self.rows, "there are more values than rows")
        texts = _padded([text_of(one) for one in values], self.rows)
        for line, notes, text in zip(self.cells, self.notes, texts, strict=True):
            line.insert(column - 1, text)
            notes.insert(column - 1, "")
        self._shift(1, column - 1, 1)

    def delete_row(self, row: int) -> None:
        """Delete the row with this number."""
        _check(1 <= row <= self.rows, "an index is outside of the sheet")
        del self.cells[row - 1], self.notes[row - 1]
        self._shift(0, row - 1, -1)
        self.frozen -= row <= self.frozen

    def delete_column(self, column: int) -> None:
        """Delete the column with this number."""
        _check(1 <= column <= self.columns, "an index is outside of the sheet")
        for line in (*self.cells, *self.notes):
            del line[column - 1]
        self._shift(1, column - 1, -1)

    def sort(self, column: int, descending: bool) -> None:
        """Sort the rows below the frozen ones: as numbers if all are, stable, blanks last."""
        _check(1 <= column <= self.columns, "col_num is outside of the sheet")
        _check(all(last < self.frozen for _, _, last, _ in self.merged), "merged cells cannot be sorted")
        lines = list(zip(self.cells, self.notes, strict=True))
        below = lines[self.frozen :]
        filled = [line for line in below if line[0][column - 1].strip()]
        numbers = [number_of(line[0][column - 1]) for line in filled]
        if all(number is not None for number in numbers):
            filled.sort(key=lambda line: number_of(line[0][column - 1]) or 0.0, reverse=descending)
        else:
            filled.sort(key=lambda line: line[0][column - 1], reverse=descending)
        lines[self.frozen :] = [*filled, *(line for line in below if not line[0][column - 1].strip())]
        self.cells, self.notes = [line for line, _ in lines], [notes for _, notes in lines]

    def merge(self, start: str, end: str) -> None:
        """Merge a range, which keeps the value of its first cell."""
        row1, column1, row2, column2 = area = self.area(start, end)
        _check((row1, column1) != (row2, column2), "one cell cannot be merged")
        _check(
            not any(_overlap(area, other) for other in self.merged), "some of these cells are merged already"
        )
        kept = self.cells[row1][column1]
        for row in range(row1, row2 + 1):
            self.cells[row][column1 : column2 + 1] = [""] * (column2 - column1 + 1)
        self.cells[row1][column1] = kept
        self.merged.append(area)

    def _shift(self, axis: int, at: int, by: int) -> None:
        """Move merged ranges after a row (axis 0) or column was inserted or deleted; what vanishes, goes."""
        moved = list[Range]()
        for area in self.merged:
            ends = [*area]
            if by > 0:
                ends[axis] += area[axis] >= at
                ends[axis + 2] += area[axis + 2] >= at
            else:
                ends[axis] -= area[axis] > at
                ends[axis + 2] -= area[axis + 2] >= at
            if ends[0] <= ends[2] and ends[1] <= ends[3] and ends[:2] != ends[2:]:
                moved.append((ends[0], ends[1], ends[2], ends[3]))
        self.merged = moved


def parsed(position: str) -> tuple[int, int]:
    """Row and column of a position such as `B3`, from 1; raises `ToolError`."""
    found = POSITION.fullmatch(position.strip())
    if found is None:
        raise ToolError("Error: a position is a letter and a number, such as B3", argument="position")
    column = 0
    for letter in found[1].upper():
        column = 26 * column + ord(letter) - ord("A") + 1
    return int(found[2]), column


def position_of(row: int, column: int) -> str:
    """The position of a row and a column, both from 1."""
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return f"{letters}{row}"


def text_of(value: object) -> str:
    """The text of a cell with this value; raises `ToolError` for one that no cell can hold."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        _check(math.isfinite(value), "a value is no finite number")
        value = int(value) if value.is_integer() and abs(value) < 1e15 else value
    if not isinstance(value, str | int | float):
        raise ToolError("Error: a value is a text or a number")
    text = str(value)
    _check(len(text) <= LONGEST_CELL, f"a value is longer than {LONGEST_CELL} characters")
    return text


def number_of(text: str) -> float | None:
    """The number that a cell shows; None if it shows none."""
    return float(text) if NUMBER.fullmatch(text.strip()) else None


def _check(holds: bool, message: str) -> None:
    if not holds:
        raise ToolError(f"Error: {message}")


def _padded(texts: list[str], length: int) -> list[str]:
    return texts + [""] * (length - len(texts))


def _overlap(one: Range, other: Range) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]
