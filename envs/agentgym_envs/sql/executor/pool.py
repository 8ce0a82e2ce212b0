"""Open databases of a thread, the least recently used of which are closed."""

import threading
from collections import OrderedDict

from agentgym_envs.sql.executor.database import Database, Source

OPEN_AT_ONCE = 48


class _Opened(threading.local):
    """Databases of one thread: SQLite's connections stay in theirs."""

    def __init__(self) -> None:
        self.databases: OrderedDict[Source, Database] = OrderedDict()


_opened = _Opened()


def borrowed(source: Source) -> Database:
    """A database for reading, to be used before the next one is borrowed, and not to be closed."""
    databases = _opened.databases
    database = databases.get(source)
    if database is None:
        database = databases[source] = _opened_in_need(source, databases)
        if len(databases) > OPEN_AT_ONCE:
            databases.popitem(last=False)[1].close()
    databases.move_to_end(source)
    return database


def _opened_in_need(source: Source, databases: OrderedDict[Source, Database]) -> Database:
    """A new database; where SQLite has no memory for it, the other ones of the thread are closed first."""
    try:
        return source.opened()
    except MemoryError:
        while databases:
            databases.popitem()[1].close()
    return source.opened()
