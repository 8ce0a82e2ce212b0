"""`agentevol trajectories sql`: a statement over the table of a run's episodes."""

import csv as csv_module
import json as json_module
import math
import sys
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from agentevol.cli.console.output import print_json_line, print_table
from agentevol.cli.trajectories.tables import Table, open_table

if TYPE_CHECKING:
    from agentgym_store.sql import Result

PAGE = 1_000
"""Rows under one header, which are in memory at a time."""


def sql(
    path: Table,
    statement: Annotated[
        str | None, typer.Argument(help="One SELECT or WITH ... SELECT; without it, the columns are listed.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print comma-separated values with a header.")] = False,
    timeout: Annotated[float, typer.Option(min=0.1, help="Seconds that the statement may take.")] = 300.0,
    memory: Annotated[
        float, typer.Option(min=0.1, help="GiB of memory that the statement may take, on Linux.")
    ] = 4.0,
) -> None:
    """Run a statement over the views episodes and turns of a table. It reads them and nothing else.

    Example: agentevol trajectories sql runs/first "select env, avg(total_reward) as reward from episodes
    group by env"
    """
    from agentgym_store.sql import Limits, query

    if json and csv:
        raise typer.BadParameter("--json and --csv exclude each other")
    store = open_table(path)
    if statement is None:
        _print_columns(json, csv)
        return
    limits = Limits(seconds=timeout, memory_bytes=int(memory * 2**30))
    with query(store, statement, limits) as result:
        if json:
            _print_json(result)
        elif csv:
            _print_csv(result.columns, result.rows())
        else:
            _print_pages(result)


def _print_columns(json: bool, csv: bool) -> None:
    from agentgym_store.sql.views import descriptions

    header = ("view", "column", "type", "meaning")
    rows = [
        (view, column, str(kind), meaning)
        for view, columns in descriptions().items()
        for column, (kind, meaning) in columns.items()
    ]
    if json:
        for row in rows:
            print_json_line(dict(zip(header, row, strict=True)))
    elif csv:
        _print_csv(header, iter(rows))
    else:
        print_table(header, rows)


def _print_json(result: "Result") -> None:
    for row in result.rows():
        print_json_line({name: _plain(value) for name, value in zip(result.columns, row, strict=True)})


def _print_csv(columns: tuple[str, ...], rows: Iterator[tuple[Any, ...]]) -> None:
    writer = csv_module.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow("" if value is None else _cell(value) for value in row)


def _print_pages(result: "Result") -> None:
    rows = result.rows()
    count = 0
    while page := list(islice(rows, PAGE)):
        print_table(
            result.columns, [["-" if value is None else _cell(value) for value in row] for row in page]
        )
        count += len(page)
    print(f"{count:,} rows")


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: null for a number that is not finite, text for a time."""
    if isinstance(value, list):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _cell(value: Any) -> str | int | float:
    """A value that is not null as one cell: lists, structs and truth values as JSON."""
    if isinstance(value, bool | list | dict):
        return json_module.dumps(_plain(value), ensure_ascii=False)
    return value if isinstance(value, int | float) else str(value)
