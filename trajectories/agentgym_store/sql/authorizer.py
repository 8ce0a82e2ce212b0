"""Authorizer of SQL statements: they read the views of one table, and no other file or address.

polars' SQL reads files and addresses by functions in the place of a table, `read_csv('...')`. A statement
that contains the name of one, wherever it stands, is refused before polars sees it; then the sources of its
plan are checked, which must be the views.
"""

import re

import polars as pl

from agentgym_store.errors import StatementError

LONGEST = 64 * 1024
"""Maximum length of a statement in characters."""

FILE_FUNCTIONS = tuple(sorted(name for name in dir(pl) if name.startswith(("read_", "scan_"))))
"""Names of polars' readers; SQL offers a few of them."""

_FILE_FUNCTION = re.compile(rf"\b({'|'.join(FILE_FUNCTIONS)})\b")
_FIRST_WORD = re.compile(r"(?:\s|--[^\n]*(?:\n|\Z)|/\*.*?\*/|\()*(\w*)", re.DOTALL)
_SOURCE = re.compile(r"^\s*(\w+) SCAN\b", re.MULTILINE)
_VIEW = "PYTHON"


def authorize(statement: str) -> None:
    """Raise `StatementError` unless the statement may be given to polars."""
    if len(statement) > LONGEST:
        raise StatementError(f"the statement has {len(statement):,} characters; {LONGEST:,} are allowed")
    first = _FIRST_WORD.match(statement)
    if first is None or first[1].lower() not in ("select", "with"):
        raise StatementError("only statements that read are run: they begin with SELECT or WITH")
    if named := _FILE_FUNCTION.search(statement.casefold()):
        raise StatementError(
            f"{named[1]} reads files, and may not be named; a statement reads the views episodes and turns"
        )


def authorize_plan(plan: str) -> None:
    """Raise `StatementError` if a plan, as `LazyFrame.explain` prints it, reads anything but the views."""
    others = {kind for kind in _SOURCE.findall(plan) if kind != _VIEW}
    if others:
        raise StatementError(
            f"a statement reads the views episodes and turns, not {', '.join(sorted(others))} files"
        )
