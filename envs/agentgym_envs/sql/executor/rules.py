"""Rules about statements: which tables, functions and actions are allowed."""

import re
import sqlite3
from collections.abc import Iterable

from agentgym_envs.sql.executor.functions import ALLOWED

SCHEMA_TABLES = frozenset({"sqlite_master", "sqlite_schema"})
READING = frozenset({"select", "with", "values"})
WRITING = frozenset({"insert", "update", "delete", "with"})

_SKIPPED = re.compile(r"(?:\s+|;|--[^\n]*(?:\n|\Z)|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]+")
_ACTIONS = {
    code: name.removeprefix("SQLITE_").replace("_", " ").lower()
    for name, code in vars(sqlite3).items()
    if name.startswith(("SQLITE_CREATE", "SQLITE_DROP", "SQLITE_ALTER"))
    or name
    in {
        "SQLITE_ATTACH",
        "SQLITE_DETACH",
        "SQLITE_PRAGMA",
        "SQLITE_TRANSACTION",
        "SQLITE_SAVEPOINT",
        "SQLITE_INSERT",
        "SQLITE_UPDATE",
        "SQLITE_DELETE",
        "SQLITE_REINDEX",
        "SQLITE_ANALYZE",
    }
}
_WRITES = (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)


def first_word(sql: str) -> str:
    """The first keyword of a statement in lower case, comments skipped; '' if there is none."""
    skipped = _SKIPPED.match(sql)
    found = _WORD.match(sql, skipped.end() if skipped else 0)
    return found.group().lower() if found else ""


class Rules:
    """Authorizer of one connection: what is not allowed is denied.

    `writable`: statements may also insert, update and delete rows of the listed tables.
    """

    def __init__(self, tables: Iterable[str], modules: Iterable[str], *, writable: bool) -> None:
        self.tables = frozenset(name.lower() for name in tables)
        self.modules = frozenset(name.lower() for name in modules) - self.tables
        self.words = WRITING if writable else READING
        self.writable = writable
        self.start()

    def start(self) -> None:
        """Begin a statement."""
        self.reason = ""
        """Reason for which it is denied; '' if it is not."""
        self.written = set[str]()
        """Names of the tables that it writes, in lower case."""

    def authorize(
        self, action: int, first: str | None, second: str | None, schema: str | None, _inner: str | None
    ) -> int:
        """Authorizer callback of SQLite, asked about every part of a statement as it is compiled."""
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_READ:
            allowed = self._may_read((first or "").lower(), second or "", schema)
            return self._answer(allowed, f"the table {first} is not part of this database")
        if action == sqlite3.SQLITE_FUNCTION:
            return self._answer((second or "").lower() in ALLOWED, f"the function {second} is not allowed")
        if self.writable and action in _WRITES:
            self.written.add((first or "").lower())
            return self._answer((first or "").lower() in self.tables, f"{first} may not be written")
        if action in _WRITES and first in SCHEMA_TABLES:  # how SQLite compiles the use of a virtual table
            return self._answer(False, "virtual tables are not allowed")
        return self._answer(False, f"{_ACTIONS.get(action, 'this action')} is not allowed")

    def _may_read(self, table: str, column: str, schema: str | None) -> bool:
        if table in self.tables or (table in SCHEMA_TABLES and schema in ("main", None)):
            return schema in ("main", None)
        # Without a column, it may be the name of a common table expression, but not of a virtual table.
        return not column and table not in self.modules and not table.startswith(("pragma_", "sqlite_"))

    def _answer(self, allowed: bool, reason: str) -> int:
        if allowed:
            return sqlite3.SQLITE_OK
        self.reason = self.reason or reason
        return sqlite3.SQLITE_DENY
