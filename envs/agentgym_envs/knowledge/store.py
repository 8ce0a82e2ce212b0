"""Read-only connections to worlds, kept by thread."""

import sqlite3
import threading
from collections import OrderedDict
from functools import lru_cache

from agentgym_envs.knowledge.rows import listed
from agentgym_envs.knowledge.world import fill

KEPT = 32
"""Connections that a thread keeps, of about 0.9 MB each; the one used longest ago goes."""
IMAGES = 16
"""Databases that a process keeps as bytes, for all threads."""

ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE}
FUNCTIONS = frozenset(
    listed(
        "abs avg coalesce count group_concat ifnull instr length like lower max min nullif replace round"
        " substr sum total trim upper"
    )
)


class _Kept(threading.local):
    """The connections of one thread, the one used last at the end."""

    def __init__(self) -> None:
        self.connections = OrderedDict[tuple[str, int], sqlite3.Connection]()


_kept = _Kept()


def connection(split: str, number: int) -> sqlite3.Connection:
    """The database of the world `number` of a split, for reading, by the calling thread only.

    It is shared by all callers of the thread: nobody closes it. Raises `ValueError` for an unknown split or a
    negative number.
    """
    connections, key = _kept.connections, (split, number)
    found = connections.get(key)
    if found is not None:
        connections.move_to_end(key)
        return found
    connections[key] = opened = _open(_image(split, number))
    if len(connections) > KEPT:
        connections.popitem(last=False)
    return opened


@lru_cache(IMAGES)
def _image(split: str, number: int) -> bytes:
    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        fill(database, split, number)
        return database.serialize()
    finally:
        database.close()


def _open(image: bytes) -> sqlite3.Connection:
    opened = sqlite3.connect(":memory:", isolation_level=None, cached_statements=512)
    opened.deserialize(image)
    opened.execute("PRAGMA query_only = ON")
    opened.execute("PRAGMA trusted_schema = OFF")
    opened.set_authorizer(_authorize)
    return opened


def _authorize(action: int, _first: str | None, second: str | None, *_where: str | None) -> int:
    if action in ALLOWED or (action == sqlite3.SQLITE_FUNCTION and second in FUNCTIONS):
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY
