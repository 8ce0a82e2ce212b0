"""Tools of `sheet` that change it. Those that change the open sheet return all its cells."""

from typing import Annotated, Literal

from pydantic import Field

from agentgym_envs.families.sheet.formulas import Operator, Position, computed
from agentgym_envs.families.sheet.grid import Cells, text_of
from agentgym_envs.families.sheet.workbook import SheetState
from agentgym_envs.tooluse import ToolError, tool

Value = str | float | bool | None


@tool("write")
def del_sheet(state: SheetState, name: Annotated[str, Field(max_length=200)]) -> str:
    """Delete a sheet.

    Args:
        name: Name of the sheet.
    """
    if state.sheets.pop(name, None) is None:
        raise ToolError(f"Error: there is no sheet {name[:80]!r}", argument="name")
    return f"The sheet {name} is deleted."


@tool("write")
def insert_cols(state: SheetState, values_list: list[list[Value]], col_idx: int) -> Cells:
    """Insert columns.

    Args:
        values_list: The cells of each column, from the first row on.
        col_idx: Number of the column before which they are inserted.
    """
    grid = state.writing()
    for place, values in enumerate(values_list):
        grid.insert_column(values, col_idx + place)
    return state.keep(grid)


@tool("write")
def insert_rows(state: SheetState, values_list: list[list[Value]], row_idx: int) -> Cells:
    """Insert rows.

    Args:
        values_list: The cells of each row, from the first column on.
        row_idx: Number of the row before which they are inserted.
    """
    grid = state.writing()
    for place, values in enumerate(values_list):
        grid.insert_row(values, row_idx + place)
    return state.keep(grid)


@tool("write")
def delete_batch_data(state: SheetState, dimension: Literal["row", "col"], index_list: list[int]) -> Cells:
    """Delete rows or columns.

    Args:
        dimension: What to delete.
        index_list: Their numbers, from 1, as they are before.
    """
    grid = state.writing()
    for index in sorted(set(index_list), reverse=True):
        if dimension == "row":
            grid.delete_row(index)
        else:
            grid.delete_column(index)
    return state.keep(grid)


@tool("write")
def update_cell(state: SheetState, position: Position, value: Value) -> Cells:
    """Set the value of a cell. There are no formulas: a text that begins with = is a text.

    Args:
        position: The cell, such as B3.
        value: The value.
    """
    grid = state.writing()
    row, column = grid.place(position)
    grid.cells[row][column] = text_of(value)
    return state.keep(grid)


@tool("write")
def update_cell_by_formula(
    state: SheetState,
    operator: Operator,
    result_position: Position,
    start_position: Position | None = None,
    end_position: Position | None = None,
    position_list: list[Position] | None = None,
) -> Cells:
    """Set a cell to a value that is computed from other cells.

    Args:
        operator: The computation.
        result_position: The cell to set.
        start_position: First cell of a range.
        end_position: Last cell of the range.
        position_list: Single cells, instead of a range.
    """
    grid = state.writing()
    row, column = grid.place(result_position)
    grid.cells[row][column] = text_of(computed(state, operator, start_position, end_position, position_list))
    return state.keep(grid)


@tool("write")
def update_range(
    state: SheetState, start_position: Position, end_position: Position, values_list: list[list[Value]]
) -> Cells:
    """Set the values of a range.

    Args:
        start_position: First cell of the range.
        end_position: Last cell of the range.
        values_list: The rows of the range.
    """
    grid = state.writing()
    row1, column1, row2, column2 = grid.area(start_position, end_position)
    width = column2 - column1 + 1
    if len(values_list) != row2 - row1 + 1 or any(len(values) != width for values in values_list):
        raise ToolError("Error: values_list has another size than the range", argument="values_list")
    for row, values in enumerate(values_list, row1):
        grid.cells[row][column1 : column2 + 1] = [text_of(one) for one in values]
    return state.keep(grid)


@tool("write")
def sort_sheet_by_col(state: SheetState, col_num: int, order: Literal["asc", "des"]) -> Cells:
    """Sort the rows below the frozen ones by a column.

    Args:
        col_num: Number of the column, from 1.
        order: Ascending or descending.
    """
    grid = state.writing()
    grid.sort(col_num, order == "des")
    return state.keep(grid)


@tool("write")
def merge_cells(state: SheetState, start_position: Position, end_position: Position) -> Cells:
    """Merge a range; it keeps the value of its first cell.

    Args:
        start_position: First cell of the range.
        end_position: Last cell of the range.
    """
    grid = state.writing()
    grid.merge(start_position, end_position)
    return state.keep(grid)


@tool("write")
def update_note(
    state: SheetState, position: Position, content: Annotated[str, Field(max_length=500)]
) -> Cells:
    """Set the note of a cell.

    Args:
        position: The cell, such as B3.
        content: Text of the note.
    """
    grid = state.writing()
    row, column = grid.place(position)
    grid.notes[row][column] = content
    return state.keep(grid)
