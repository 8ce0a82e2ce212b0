"""Databases that execute statements of a model: `Database`.

> database = Source(Path("pets.sqlite")).opened()
> database.run("SELECT count(*) FROM pets").rows
((3,),)
> database.run("DROP TABLE pets").status
'denied'
"""

import logging
import sqlite3
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agentgym_envs.sql.alone.process import executed_alone
from agentgym_envs.sql.executor.functions import Functions
from agentgym_envs.sql.executor.limits import (
    CACHE_KIB,
    HARD_HEAP_BYTES,
    SQLITE_LIMITS,
    STEPS_PER_CHECK,
    VERDICT,
    Extent,
)
from agentgym_envs.sql.executor.meter import Meter
from agentgym_envs.sql.executor.results import Result, Row, Value, failed, text_of_bytes
from agentgym_envs.sql.executor.rules import Rules, first_word

CACHED_STATEMENTS = 0
"""None: SQLite counts the steps of a cached statement on from its last run, so that the same statement would
reach the limit earlier.
"""
SEVERAL = "You can only execute one statement"
"""Beginning of the message of Python's module for a second statement."""
TOO_BIG, INTERRUPTED = 18, 9
"""Primary error codes of SQLite."""
NO_MEMORY = "the statement needs too much memory"

_log = logging.getLogger(__name__)


class Source(NamedTuple):
    """Content of a database: a file, or the bytes of one."""

    path: Path | None
    image: bytes = b""

    def opened(self, *, writable: bool = False, alone: bool = False) -> "Database":
        """A database over this content."""
        return Database(self, writable=writable, alone=alone)


class OutOfMemory(MemoryError):
    """SQLite has no memory left in this process: a statement took too much, or others did."""


class Database:
    """A connection with rules and limits, for one thread.

    A statement reads; on a `writable` database, which is always in memory, it may also insert, update and
    delete rows within `transaction`. `alone`: nothing else takes SQLite's memory in this process.
    """

    def __init__(self, source: Source, *, writable: bool = False, alone: bool = False) -> None:
        self.source = source
        self.alone = alone
        self.meter = Meter()
        self.functions = Functions(self.meter)
        self._connection = _connected(source, writable=writable)
        self.tables = tuple(
            name
            for (name,) in self._connection.execute(
                "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%'"
            )
        )
        modules = [name for (name,) in self._connection.execute("PRAGMA module_list")]
        self.rules = Rules(self.tables, modules, writable=writable)
        self._guard()

    def _guard(self) -> None:
        connection = self._connection
        for limit, value in SQLITE_LIMITS.items():
            connection.setlimit(limit, value)
        self.functions.install(connection)
        connection.set_progress_handler(self.meter.check, STEPS_PER_CHECK)
        connection.set_authorizer(self.rules.authorize)

    def run(self, sql: str, extent: Extent = VERDICT) -> Result:
        """Execute one statement, whatever it does; the database is usable afterwards.

        Where no memory is left for it, the statement is executed again in a process of its own, so that equal
        statements on equal content have equal results, whatever else this process does. On a `writable`
        database, of which such a process knows nothing, this raises `OutOfMemory`.
        """
        try:
            return self._run(sql, extent)
        except OutOfMemory:
            if self.alone:
                return failed("resource_limit", NO_MEMORY)
            if self.rules.writable:
                raise
        return Result(*executed_alone("query", self.source.path, self.source.image, sql, extent))

    def _run(self, sql: str, extent: Extent) -> Result:
        word = first_word(sql)
        if word and word not in self.rules.words:
            allowed = ", ".join(one.upper() for one in sorted(self.rules.words))
            return failed("denied", f"a statement begins with {allowed}; not with {word.upper()[:20]}")
        self.meter.start()
        self.functions.start()
        self.rules.start()
        try:
            return self._executed(sql, extent)
        except MemoryError:
            raise OutOfMemory from None
        except (sqlite3.Error, ValueError, OverflowError) as cause:
            return self._failure(cause)

    def _executed(self, sql: str, extent: Extent) -> Result:
        cursor = self._connection.execute(sql)
        try:
            if cursor.description is None:
                return Result("ok") if self.rules.writable else failed("error", "there is no statement")
            columns = tuple(str(column[0]) for column in cursor.description)
            rows, more = _fetched(cursor, extent)
        finally:
            cursor.close()
        if not more:
            return Result("ok", columns, rows)
        return Result("too_many_rows", columns, rows, f"more than {len(rows)} rows")

    def _failure(self, cause: Exception) -> Result:
        if self.meter.exceeded:
            return failed("resource_limit", f"the statement took {self.meter.exceeded}")
        if self.functions.refused is not None:
            message, status = self.functions.refused.args
            return failed(status, message)
        if self.rules.reason:
            return failed("denied", self.rules.reason)
        if str(cause).startswith(SEVERAL):
            return failed("denied", "one statement at a time")
        code = getattr(cause, "sqlite_errorcode", 0)
        if code == sqlite3.SQLITE_IOERR_NOMEM:
            raise OutOfMemory from None
        if code & 0xFF in (TOO_BIG, INTERRUPTED) or isinstance(cause, sqlite3.DataError):
            return failed("resource_limit", str(cause))
        return failed("error", str(cause))

    @contextmanager
    def transaction(self) -> Generator[None]:
        """Roll back, at exit, what statements write; only for a writable database."""
        self._trusted("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:  # one that was interrupted is rolled back already
                self._trusted("ROLLBACK")

    def rows_by_id(self, table: str) -> dict[Value, Row]:
        """All rows of a table by rowid, without limits."""
        return {row[0]: row[1:] for row in self._trusted(f"SELECT rowid, * FROM {_quoted(table)}")}

    def surrogate(self, table: str) -> int | None:
        """Place of the column that is another name of the rowid, if there is one."""
        keys = [row for row in self._trusted(f"PRAGMA table_info({_quoted(table)})") if row[5]]
        is_integer = len(keys) == 1 and str(keys[0][2]).upper() == "INTEGER"
        return int(keys[0][0] or 0) if is_integer else None

    def _trusted(self, sql: str) -> list[Row]:
        connection = self._connection
        connection.set_authorizer(None)
        connection.set_progress_handler(None, 0)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.set_progress_handler(self.meter.check, STEPS_PER_CHECK)
            connection.set_authorizer(self.rules.authorize)

    def close(self) -> None:
        """Close the connection; may be called twice."""
        self._connection.close()
        self.functions.close()


def _connected(source: Source, *, writable: bool) -> sqlite3.Connection:
    _limit_heap()
    if source.path is not None and writable:
        source = Source(None, source.path.read_bytes())
    where = f"{source.path.absolute().as_uri()}?mode=ro&immutable=1" if source.path else ":memory:"
    connection = sqlite3.connect(
        where, uri=source.path is not None, isolation_level=None, cached_statements=CACHED_STATEMENTS
    )
    if source.path is None:
        connection.deserialize(source.image)
    connection.text_factory = text_of_bytes
    settings = {
        "query_only": 0 if writable else 1,
        "trusted_schema": 0,
        "cell_size_check": 1,
        "temp_store": 2,
        "cache_size": -CACHE_KIB,
        "foreign_keys": 0,
    }
    for name, value in settings.items():
        connection.execute(f"PRAGMA {name}={value}")
    return connection


_heap_limited = False
_limiting = threading.Lock()


def _limit_heap() -> None:
    """Limit SQLite's memory in this process, once: the limit can be lowered, but not raised again."""
    global _heap_limited
    with _limiting:
        if _heap_limited:
            return
        connection = sqlite3.connect(":memory:")
        try:
            row = connection.execute(f"PRAGMA hard_heap_limit={HARD_HEAP_BYTES}").fetchone()
        finally:
            connection.close()
        _heap_limited = True
    if row is None or row[0] != HARD_HEAP_BYTES:
        _log.warning("SQLite did not accept a heap limit of %d bytes: it reports %s", HARD_HEAP_BYTES, row)


def _fetched(cursor: sqlite3.Cursor, extent: Extent) -> tuple[tuple[Row, ...], bool]:
    """Rows within the extent, and whether there are more."""
    rows, left = list[Row](), extent.characters
    for row in cursor:
        left -= sum(map(_size, row))
        if len(rows) >= extent.rows or left < 0:
            return tuple(rows), True
        rows.append(row)
    return tuple(rows), False


def _size(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 8


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
