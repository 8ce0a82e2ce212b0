"""Computations on cells."""

import math
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import Field

from agentgym_envs.families.sheet.grid import number_of
from agentgym_envs.families.sheet.workbook import SheetState
from agentgym_envs.tooluse import ToolError

Position = Annotated[str, Field(max_length=20)]
Operator = Literal["SUM", "AVERAGE", "COUNT", "MAX", "MIN", "MINUS", "PRODUCT"]


def _average(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def _minus(numbers: Sequence[float]) -> float:
    return numbers[0] - math.fsum(numbers[1:])


OPERATORS: dict[str, Callable[[Sequence[float]], float]] = {
    "SUM": math.fsum,
    "AVERAGE": _average,
    "COUNT": len,
    "MAX": max,
    "MIN": min,
    "MINUS": _minus,
    "PRODUCT": math.prod,
}


def computed(
    state: SheetState, operator: str, start: str | None, end: str | None, positions: list[str] | None
) -> float:
    """The value of an operator over the numbers in some cells; raises `ToolError`.

    MINUS subtracts all others from the first.
    """
    texts = _texts(state, start, end, positions)
    numbers = [number for text in texts if (number := number_of(text)) is not None]
    if not numbers and operator != "COUNT":
        raise ToolError("Error: there is no number in these cells")
    value = OPERATORS[operator](numbers)
    if not math.isfinite(value):
        raise ToolError("Error: the result is too large")
    rounded = round(float(value), 10)
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def _texts(state: SheetState, start: str | None, end: str | None, positions: list[str] | None) -> list[str]:
    grid = state.reading()
    if positions:
        return [grid.cells[row][column] for row, column in map(grid.place, positions)]
    if start is None or end is None:
        raise ToolError("Error: give start_position and end_position, or position_list")
    row1, column1, row2, column2 = grid.area(start, end)
    return [cell for row in grid.cells[row1 : row2 + 1] for cell in row[column1 : column2 + 1]]
