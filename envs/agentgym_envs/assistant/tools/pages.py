"""Pages of rows, and checks that tools share."""

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import Field
from typing_extensions import TypedDict

from agentgym_envs.assistant.clock import is_date, is_time
from agentgym_envs.assistant.session import Session
from agentgym_envs.tooluse import ToolError

Limit = Annotated[int, Field(ge=1, le=50)]
Id = Annotated[int, Field(ge=1)]
Ids = Annotated[list[Id], Field(min_length=1, max_length=20)]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=4000)]


class Page(TypedDict):
    """Some rows of a list."""

    items: list[dict[str, Any]]
    next_cursor: str | None
    total: int


Filter = tuple[str, Any]
"""A condition of a query and its value; used if the value is given."""


class Search(NamedTuple):
    """A text that one of some columns must contain, in any case of its ASCII letters; used if it is given."""

    columns: tuple[str, ...]
    value: str | None


class Selection(NamedTuple):
    """Rows of a table that meet all filters with a value."""

    table: str
    columns: str
    filters: Sequence[Filter | Search] = ()
    order: str = "id"
    key: str = "id"
    """The column by which rows are known to have been read."""


class Source(Protocol):
    """Tables that pages are read from."""

    def rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        """All rows of a query."""
        ...

    def value(self, sql: str, *values: Any) -> Any:
        """The first value of the first row of a query."""
        ...

    def rows_with(self, part: str, table: str, columns: tuple[str, ...]) -> list[int] | None:
        """As in `Office`."""
        ...


def page(
    session: Session, selection: Selection, limit: int, cursor: str | None, source: Source | None = None
) -> Page:
    """A page of a selection, from the office unless another source is given."""
    table, columns, filters, order, key = selection
    tables, first = source or session.office, _offset(cursor)
    where, values = _where(tables, table, filters)
    found = tables.rows(
        f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order} LIMIT {limit + 1} OFFSET {first}",
        *values,
    )
    items = found[:limit]
    more = len(found) > limit
    total = (
        tables.value(f"SELECT count(*) FROM {table} WHERE {where}", *values) if more or first else len(items)
    )
    session.saw(table, [item[key] for item in items])
    return {"items": items, "next_cursor": str(first + limit) if more else None, "total": total}


def existing(session: Session, table: str, key: int, argument: str) -> dict[str, Any]:
    """The row with an id. Raises `ToolError` if there is none."""
    row = session.office.row(f"SELECT * FROM {table} WHERE id = ?", key)
    if row is None:
        raise ToolError(f"not_found: there is no {argument.removesuffix('_id')} {key}", argument=argument)
    return row


def update(session: Session, table: str, key: int, fields: dict[str, Any]) -> None:
    """Set columns of a row. Raises `ToolError` where there is nothing to set."""
    if not fields:
        raise ToolError("empty: name at least one field", argument="fields")
    assignments = ", ".join(f'"{column}" = ?' for column in fields)
    session.office.write(f"UPDATE {table} SET {assignments} WHERE id = ?", *fields.values(), key)


def check_date(text: str | None, argument: str) -> None:
    """Raise `ToolError` for a text that is no date."""
    if text is not None and not is_date(text):
        raise ToolError(f"bad_date: {text[:40]!r} is no date", argument=argument, expected="YYYY-MM-DD")


def check_time(text: str | None, argument: str) -> None:
    """Raise `ToolError` for a text that is no time."""
    if text is not None and not is_time(text):
        raise ToolError(f"bad_time: {text[:40]!r} is no time", argument=argument, expected="YYYY-MM-DDTHH:MM")


def check_moment(text: str | None, argument: str) -> None:
    """Raise `ToolError` for a text that is neither a date nor a time."""
    if text is not None and not (is_date(text) or is_time(text)):
        raise ToolError(
            f"bad_time: {text[:40]!r} is no date and no time",
            argument=argument,
            expected="YYYY-MM-DD or YYYY-MM-DDTHH:MM",
        )


def _where(source: Source, table: str, filters: Sequence[Filter | Search]) -> tuple[str, list[Any]]:
    """The condition of all filters with a value, and its values."""
    conditions, values = list[str](), list[Any]()
    for one in filters:
        if isinstance(one, Search):
            if one.value is not None:
                condition, some = _contains(source, table, one.columns, one.value)
                conditions.append(condition)
                values += some
        elif one[1] is not None:
            conditions.append(one[0])
            values.append(one[1])
    return " AND ".join(conditions) or "1", values


def _contains(source: Source, table: str, columns: tuple[str, ...], text: str) -> tuple[str, list[Any]]:
    """The condition that one of the columns contains a text, and its values. It is SQLite that decides; where
    few rows can meet it, their ids save reading the others.
    """
    # without the plus SQLite plans the statement anew for each pattern
    condition = " OR ".join(f"{column} LIKE +? ESCAPE '\\'" for column in columns)
    values = list[Any]([like(text)] * len(columns))
    ids = source.rows_with(text, table, columns)
    if ids is None:
        return f"({condition})", values
    return f"({condition}) AND id IN ({', '.join('?' * len(ids))})", [*values, *ids]


def like(text: str | None) -> str | None:
    """The pattern of a case-insensitive substring."""
    if text is None:
        return None
    escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return f"%{escaped}%"


def _offset(cursor: str | None) -> int:
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) < 7):
        raise ToolError(f"bad_cursor: {cursor[:40]!r}", argument="cursor", expected="next_cursor of a page")
    return int(cursor)
