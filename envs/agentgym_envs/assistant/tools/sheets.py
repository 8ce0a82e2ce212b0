"""Tools for sheets of cells."""

from typing import Annotated, Any

from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.assistant.session import Session
from agentgym_envs.assistant.tools.pages import Name
from agentgym_envs.tooluse import ToolError, tool

Line = Annotated[int, Field(ge=1, le=200)]


class Cell(TypedDict):
    """A cell and its new value."""

    row: Line
    col: Line
    value: Annotated[str, Field(max_length=200)]


@tool("read")
def read_sheet(session: Session, sheet: Name) -> list[list[str | None]]:
    """Read a sheet, row by row.

    Args:
        sheet: Name of the sheet.
    """
    cells = session.office.rows("SELECT row, col, value FROM cell WHERE sheet = ? ORDER BY row, col", sheet)
    if not cells:
        raise _unknown(sheet)
    session.saw("cell", [(sheet, cell["row"], cell["col"]) for cell in cells])
    wide, high = max(cell["col"] for cell in cells), max(cell["row"] for cell in cells)
    values = {(cell["row"], cell["col"]): cell["value"] for cell in cells}
    return [[values.get((row, col)) for col in range(1, wide + 1)] for row in range(1, high + 1)]


@tool("write")
def write_cells(
    session: Session, sheet: Name, cells: Annotated[list[Cell], Field(min_length=1, max_length=20)]
) -> dict[str, Any]:
    """Write cells of a sheet. Rows and columns count from 1.

    Args:
        sheet: Name of the sheet.
        cells: Cells with their values.
    """
    if session.office.value("SELECT 1 FROM cell WHERE sheet = ?", sheet) is None:
        raise _unknown(sheet)
    for cell in cells:
        session.office.write(
            "INSERT INTO cell(sheet, row, col, value) VALUES (?, ?, ?, ?) "
            "ON CONFLICT(sheet, row, col) DO UPDATE SET value = excluded.value",
            sheet,
            cell["row"],
            cell["col"],
            cell["value"],
        )
    return {"written": len(cells)}


def _unknown(sheet: str) -> ToolError:
    return ToolError(f"not_found: there is no sheet {sheet[:40]!r}", argument="sheet")


TOOLS = (read_sheet, write_cells)
