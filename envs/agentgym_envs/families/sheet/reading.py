"""Tools of `sheet` that do not change cells."""

from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import ConfigDict, Field
from typing_extensions import TypedDict

from agentgym_envs.families.sheet.formulas import Operator, Position, computed
from agentgym_envs.families.sheet.grid import Cells, position_of
from agentgym_envs.families.sheet.patterns import Pattern
from agentgym_envs.families.sheet.workbook import SheetState
from agentgym_envs.tooluse import CallError, ToolError, tool

Count = Annotated[int, Field(ge=0, le=1000)]
MOST_WORK, MOST_WORK_OF_EPISODE = 50_000, 400_000
"""Bounds of states times characters: of one search, which takes up to 0.05 s, and of an episode's. A task's
table has some 250 characters.
"""


class Regex(TypedDict):
    """A query by a regular expression."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc] - where pydantic reads it

    regex: Annotated[str, Field(max_length=200)]


@tool("generic")
def open_sheet(state: SheetState, name: Annotated[str, Field(max_length=200)]) -> str:
    """Open a sheet by its name.

    Args:
        name: Name of the sheet.
    """
    if name not in state.sheets:
        raise ToolError(
            f"Error: there is no sheet {name[:80]!r}", argument="name", expected=list(state.sheets)
        )
    state.opened = name
    return f"The sheet {name} is open."


@tool("generic")
def freeze_data(state: SheetState, dimension: Literal["rows", "columns", "row", "col"], num: Count) -> str:
    """Freeze the first rows or columns; sorting leaves frozen rows at the top.

    Args:
        dimension: What to freeze.
        num: How many.
    """
    grid = state.writing()
    if num > (grid.rows if dimension.startswith("row") else grid.columns):
        raise ToolError("Error: the sheet has fewer", argument="num")
    if dimension.startswith("row"):
        grid.frozen = num
        state.keep(grid)
    return f"The first {num} {dimension} are frozen."


@tool("read")
def get_A1_annotation(state: SheetState, row: int, col: int) -> str:  # noqa: ARG001, N802 - AgentGym's name
    """Get the position of a row and a column, such as B3.

    Args:
        row: Number of the row, from 1.
        col: Number of the column, from 1.
    """
    if not (1 <= row <= 9999 and 1 <= col <= 702):
        raise ToolError("Error: rows are from 1 to 9999, and columns from 1 to 702")
    return position_of(row, col)


@tool("read")
def get_all_values(state: SheetState) -> Cells:
    """Get all cells of the open sheet."""
    return [list(row) for row in state.reading().cells]


@tool("read")
def get_range_values(state: SheetState, start_position: Position, end_position: Position) -> Cells:
    """Get the cells of a range.

    Args:
        start_position: First cell of the range.
        end_position: Last cell of the range.
    """
    grid = state.reading()
    row1, column1, row2, column2 = grid.area(start_position, end_position)
    return [row[column1 : column2 + 1] for row in grid.cells[row1 : row2 + 1]]


@tool("read")
def get_cell_value(state: SheetState, position: Position) -> str:
    """Get the value of a cell.

    Args:
        position: The cell, such as B3.
    """
    row, column = state.reading().place(position)
    return state.reading().cells[row][column]


@tool("read")
def get_value_by_formula(
    state: SheetState,
    operator: Operator,
    start_position: Position | None = None,
    end_position: Position | None = None,
    position_list: list[Position] | None = None,
) -> float:
    """Compute a value from cells.

    Args:
        operator: The computation.
        start_position: First cell of a range.
        end_position: Last cell of the range.
        position_list: Single cells, instead of a range.
    """
    return computed(state, operator, start_position, end_position, position_list)


@tool("read")
def filter_cells(
    state: SheetState,
    query: Annotated[str, Field(max_length=500)] | Regex,
    in_row: int | None = None,
    in_column: int | None = None,
) -> list[str]:
    """Find the positions of the cells that have a text, or that a regular expression matches.

    Args:
        query: The whole text of the cell, or an object with a regular expression.
        in_row: Number of the only row to search.
        in_column: Number of the only column to search.
    """
    grid = state.reading()
    found = _matcher(state, query, sum(len(cell) + 1 for row in grid.cells for cell in row))
    return [
        position_of(row, column)
        for row, line in enumerate(grid.cells, 1)
        for column, cell in enumerate(line, 1)
        if in_row in (None, row) and in_column in (None, column) and found(cell)
    ]


@tool("read")
def get_note(state: SheetState, position: Position) -> str:
    """Get the note of a cell; empty if it has none.

    Args:
        position: The cell, such as B3.
    """
    row, column = state.reading().place(position)
    return state.reading().notes[row][column]


@tool("control")
def finish(state: SheetState) -> Cells:
    """End the task, and get all cells of the open sheet. Only the first call counts."""
    return [list(row) for row in state.sheets[state.opened].cells] if state.opened in state.sheets else []


def _matcher(state: SheetState, query: str | Regex, characters: int) -> Callable[[str], bool]:
    if isinstance(query, str):
        return query.__eq__
    try:
        pattern = Pattern(query["regex"])
    except ValueError as problem:
        raise ToolError(f"Error: {problem}", argument="query.regex") from None
    work = pattern.states * characters
    if work > MOST_WORK:
        raise CallError("limit", "the pattern is too large for this sheet", argument="query.regex")
    state.searched += work
    if state.searched > MOST_WORK_OF_EPISODE:
        raise CallError("limit", "this episode has searched enough by patterns", argument="query.regex")
    return pattern.search
