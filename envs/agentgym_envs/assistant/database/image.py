"""Databases of generated offices: one connection for each, in which episodes take turns."""

import sqlite3
from typing import Any

from agentgym_envs.assistant.database.changes import NetChange
from agentgym_envs.assistant.database.schema import DDL, tables
from agentgym_envs.assistant.database.texts import Texts

Statement = tuple[str, tuple[Any, ...]]
ALLOWED = frozenset(
    {
        sqlite3.SQLITE_SELECT,
        sqlite3.SQLITE_READ,
        sqlite3.SQLITE_FUNCTION,
        sqlite3.SQLITE_INSERT,
        sqlite3.SQLITE_UPDATE,
        sqlite3.SQLITE_DELETE,
        sqlite3.SQLITE_TRANSACTION,
        sqlite3.SQLITE_SAVEPOINT,
        sqlite3.SQLITE_RECURSIVE,
    }
)
"""Operations of tools; not among them: schemas, pragmas, other files, extensions."""
OPTIONS = """
PRAGMA journal_mode = MEMORY;
PRAGMA foreign_keys = ON;
PRAGMA recursive_triggers = ON;
PRAGMA trusted_schema = OFF;
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE _log(seq INTEGER PRIMARY KEY, tbl TEXT, op TEXT, old TEXT, new TEXT);
"""


class State:
    """An office after certain statements."""

    __slots__ = ("change", "statements")

    def __init__(self, statements: tuple[Statement, ...] = ()) -> None:
        self.statements = statements
        self.change: NetChange | None = None
        """The net change, once it was asked for."""


class Image:
    """Database of one office, in a transaction that is rolled back for the next episode."""

    def __init__(self, rows: dict[str, list[tuple[object, ...]]], knowledge: sqlite3.Connection) -> None:
        self.knowledge = knowledge
        """Read-only database of weather, films and papers."""
        self.connection = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
        self.pristine = State()
        """The office as it was generated."""
        self.held = self.pristine
        """The state of the database."""
        self.texts = dict[tuple[str, tuple[str, ...]], Texts]()
        """Table and columns to their texts in the generated office, once they were searched."""
        self.connection.executescript(f"{OPTIONS}{DDL}")
        self.connection.execute("BEGIN")
        for table, content in rows.items():
            marks = ", ".join("?" * len(tables()[table].columns))
            self.connection.executemany(f"INSERT INTO {table} VALUES ({marks})", content)
        self.connection.execute("COMMIT")
        self.connection.executescript(f"{_triggers()}BEGIN; SAVEPOINT generated;")
        self.connection.set_authorizer(_authorized)

    def roll_back(self) -> None:
        """Undo all statements since the office was generated."""
        self.connection.execute("ROLLBACK TO generated")


def _triggers() -> str:
    """Triggers that log the old and new values of every changed row."""
    return "".join(
        f"CREATE TEMP TRIGGER _{table.name}_{operation} AFTER {operation} ON {table.name} BEGIN "
        f"INSERT INTO _log(tbl, op, old, new) VALUES ('{table.name}', '{operation[0]}', "
        f"{_values('old', table.columns) if operation != 'INSERT' else 'NULL'}, "
        f"{_values('new', table.columns) if operation != 'DELETE' else 'NULL'}); END;"
        for table in tables().values()
        for operation in ("INSERT", "UPDATE", "DELETE")
    )


def _values(version: str, columns: tuple[str, ...]) -> str:
    listed = ", ".join(f'{version}."{column}"' for column in columns)
    return f"json_array({listed})"


def _authorized(
    operation: int, first: str | None, second: str | None, _schema: str | None, trigger: str | None
) -> int:
    """Deny all but reading and changing rows; the log is written by its triggers alone."""
    if operation not in ALLOWED:
        return sqlite3.SQLITE_DENY
    writes = operation in (sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE)
    if writes and first == "_log" and trigger is None:
        return sqlite3.SQLITE_DENY
    if operation == sqlite3.SQLITE_FUNCTION and second == "load_extension":
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK
