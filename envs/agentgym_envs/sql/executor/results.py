"""Results of statements."""

from typing import Literal, NamedTuple

Value = int | float | str | bytes | None
Row = tuple[Value, ...]

Status = Literal["ok", "denied", "error", "resource_limit", "too_many_rows"]
"""`denied`: the statement, or a part of it, is not allowed. `error`: SQLite reports an error, for example in
the syntax. `resource_limit`: it needs too many steps, too much memory or too long values.
"""

MAX_MESSAGE = 200


class Result(NamedTuple):
    """Result of a statement; equal statements on equal content have equal results."""

    status: Status
    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    """All rows if the status is `ok`; the first ones for `too_many_rows`."""
    message: str = ""
    """One line about a status other than `ok`, of at most 200 characters."""


def failed(status: Status, message: str) -> Result:
    """Result without rows."""
    return Result(status, message=" ".join(message.split())[:MAX_MESSAGE])


def text_of_bytes(raw: bytes) -> str:
    """Bytes as text; those that are no UTF-8 are replaced."""
    return raw.decode("utf-8", "replace")
