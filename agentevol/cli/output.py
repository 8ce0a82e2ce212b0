"""What the commands share to print: JSON for scripts, tables for people."""

import json
from collections.abc import Iterable, Sequence
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]


def print_json(value: object) -> None:
    """Print `value` as indented JSON. NaN is refused: no reader of JSON takes it."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_table(header: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print rows under a header, numbers to the right. Markup in cells is shown as it is."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    cells = [list(row) for row in rows]
    for index, name in enumerate(header):
        numeric = bool(cells) and all(isinstance(row[index], int | float) for row in cells)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in cells:
        table.add_row(*(Text(str(cell)) for cell in row))
    Console().print(table)
