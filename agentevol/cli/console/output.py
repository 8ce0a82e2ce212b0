"""Output of commands: JSON for scripts, tables for people."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for scripts.")]

ROOMY, CLOSE = 3, 1
"""Characters between two columns: the default, and in a terminal that is too narrow for it."""
SHORTEST = 10
"""Minimum width of a column in any terminal; every number fits."""


def print_json(value: object) -> None:
    """Print `value` as indented JSON. NaN is refused, since JSON has none."""
    print(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False, default=str))


def print_json_line(value: object) -> None:
    """Print `value` as a line of JSON. NaN is refused."""
    print(json.dumps(value, ensure_ascii=False, allow_nan=False))


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", spare: Sequence[str] = ()
) -> None:
    """Print rows under a header, numbers aligned to the right. Markup in cells and names is literal.

    A row is one line without cuts. In a terminal that is too narrow, texts wrap between words, then the
    columns named `spare` are dropped one by one, and at last texts are cut, which "…" shows.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    # rich assumes a width of 80 for a pipe or a file, which has no limit.
    room = console.width if console.file.isatty() else math.inf
    gap, columns = _layout(_columns(header, rows), room, spare)
    roomy = gap == ROOMY
    table = Table(
        title=title or None,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        show_edge=roomy,
        pad_edge=roomy,
        padding=(0, 1 if roomy else 0),
    )
    for column, width in columns:
        justify = "right" if column.is_numeric else "left"
        table.add_column(Text(column.name), justify=justify, width=width, overflow="ellipsis")
    for row in zip(*(column.cells for column, _ in columns), strict=True):
        table.add_row(*map(Text, row))
    widest = max(console.width, _taken([width for _, width in columns], gap))
    Console(width=widest).print(table)


def printable(text: str) -> str:
    """Text with control characters, except line breaks, as escapes, so that they cannot control the
    terminal.
    """
    return "".join(
        char if char == "\n" or char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )


@dataclass(frozen=True, eq=False)
class _Column:
    """Column of a table with its printed cells."""

    name: str
    cells: Sequence[str]
    is_numeric: bool

    @cached_property
    def width(self) -> int:
        """Width of its longest cell or of its name, in characters."""
        return _longest([self.name, *self.cells])

    @cached_property
    def word(self) -> int:
        """Length of the longest word."""
        return _longest([word for text in (self.name, *self.cells) for word in text.split()])


def _columns(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[_Column]:
    given = list(rows)
    columns = list(zip(*given, strict=True)) or [()] * len(header)
    return [
        _Column(
            _one_line(name),
            [_one_line(str(cell)) for cell in cells],
            bool(cells) and all(isinstance(cell, int | float) for cell in cells),
        )
        for name, cells in zip(header, columns, strict=True)
    ]


def _one_line(text: str) -> str:
    return printable(text).replace("\n", "\\n")


def _longest(texts: Sequence[str]) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, texts), default=0)


def _layout(
    columns: Sequence[_Column], room: float, spare: Sequence[str]
) -> tuple[int, list[tuple[_Column, int]]]:
    """Gap between columns, and the printed columns with their widths, for `room` characters."""
    natural = [column.width for column in columns]
    for gap in (ROOMY, CLOSE):
        if _taken(natural, gap) <= room:
            return gap, list(zip(columns, natural, strict=True))
    kept, widths = list(columns), natural
    for number in range(len(spare) + 1):
        kept = [column for column in columns if column.name not in spare[:number]]
        widths = _narrowed([one.width for one in kept], [one.word for one in kept], room)
        if _taken(widths, CLOSE) <= room:
            break
    widths = _narrowed(widths, [min(width, SHORTEST) for width in widths], room)
    return CLOSE, list(zip(kept, widths, strict=True))


def _taken(widths: Sequence[int], gap: int) -> int:
    """Width of a row; one with the default gap has a margin on both sides."""
    margin = gap + 1 if gap == ROOMY else 0
    return sum(widths) + gap * (len(widths) - 1) + margin


def _narrowed(widths: Sequence[int], least: Sequence[int], room: float) -> list[int]:
    """Widths of close columns that fit, if possible: the widest shrinks first, none below its `least`."""
    widths = list(widths)
    while _taken(widths, CLOSE) > room:
        wide = [index for index, width in enumerate(widths) if width > least[index]]
        if not wide:
            break
        widths[max(wide, key=widths.__getitem__)] -= 1
    return widths
