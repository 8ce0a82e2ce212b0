"""Limits of a statement.

A statement is stopped by its number of VM steps, which is the same on every machine and under any load. CPU
time is a backstop for steps that take unusually long; the time for which a thread waits for a core is not
part of it.
"""

import sqlite3
from typing import NamedTuple

MAX_VM_STEPS = 5_000_000
"""Steps of SQLite's virtual machine for one statement: 0.1 to 0.4 s."""
STEPS_PER_CHECK = 500
MAX_CPU_S = 5.0
"""Ten times what so many steps take, so that on a slow machine, too, steps decide."""
HARD_HEAP_BYTES = 256 * 1024 * 1024
"""Memory of all of SQLite in this process. Other environments of the process keep up to a hundred MB of
databases in memory, which a lower limit would deny them.
"""
CACHE_KIB = 4096

MAX_LENGTH = 100_000
"""Bytes of a string, a blob or a row. A function may read all of it within one step, and a row may need
thousands of steps between two checks: at 1 MiB, such a row could take minutes.
"""
MAX_SQL_LENGTH = 20_000
MAX_HEX_BYTES = 1024

SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_LENGTH,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: MAX_SQL_LENGTH,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 100,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 20,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 25_000,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 5,
    sqlite3.SQLITE_LIMIT_FUNCTION_ARG: 20,
    sqlite3.SQLITE_LIMIT_COLUMN: 100,
    sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER: 1,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
MAX_LIKE_PATTERN = 200


class Extent(NamedTuple):
    """Rows and text that a caller wants of a result."""

    rows: int
    characters: int
    """Of the values as text, over all rows."""


VERDICT = Extent(rows=1000, characters=1_000_000)
"""For predictions and golds alike."""
