"""Progress of an export, in a database beside its unfinished files: a killed export continues from it.

A checkpoint is one transaction, after the rows up to it are on disk. Rows that were written after the last
checkpoint are cut off when the export continues, and are written again.
"""

import json
import shutil
import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from agentgym_store.errors import StoreError, one_line

_TABLES = """
CREATE TABLE IF NOT EXISTS state (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS seen (digest BLOB PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS tasks (split TEXT, name TEXT, PRIMARY KEY (split, name)) WITHOUT ROWID;
"""


class Progress:
    """State of an export, the digests of its rows, and its tasks; all on disk, whatever their number."""

    def __init__(self, folder: Path, database: sqlite3.Connection) -> None:
        self.folder = folder
        self._database = database

    def state(self, name: str) -> Any:
        """A value of the last checkpoint; None where there is none."""
        row = self._database.execute("SELECT value FROM state WHERE name = ?", (name,)).fetchone()
        return None if row is None else json.loads(row[0])

    def checkpoint(self, **state: Any) -> None:
        """Save values, with all that was noted since the last checkpoint."""
        rows = [(name, json.dumps(value)) for name, value in state.items()]
        self._database.executemany("INSERT OR REPLACE INTO state VALUES (?, ?)", rows)
        self._database.commit()

    def is_new(self, digest: bytes) -> bool:
        """Note the digest of a row; False if it was noted before."""
        done = self._database.execute("INSERT OR IGNORE INTO seen VALUES (?)", (digest,))
        return done.rowcount == 1

    def note_task(self, split: str, name: str) -> None:
        """Note a task with a row in this split."""
        self._database.execute("INSERT OR IGNORE INTO tasks VALUES (?, ?)", (split, name))

    def tasks(self) -> dict[str, int]:
        """Split -> number of its tasks."""
        return dict(self._database.execute("SELECT split, count(*) FROM tasks GROUP BY split").fetchall())


@contextmanager
def progress_of(out: Path, identity: str) -> Generator[Progress]:
    """The progress of the export to `out`: an earlier one's, if it was killed and had the same `identity`.

    It is in a folder beside `out`, which stays after an error. Raises `StoreError` where another process
    writes there.
    """
    folder = out.absolute().with_name(f".{out.name}.export")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        database = _opened(folder)
    except (OSError, sqlite3.Error) as cause:
        raise StoreError(f"cannot write {out}: {_reason(cause)}") from cause
    try:
        progress = Progress(folder, database)
        if progress.state("identity") != identity:
            _clear(folder, database)
            progress.checkpoint(identity=identity)
        yield progress
    except sqlite3.Error as cause:
        raise StoreError(f"cannot write {out}: {one_line(cause)}") from cause
    finally:
        database.close()


def discard(progress: Progress) -> None:
    """Remove what is left of a finished export."""
    shutil.rmtree(progress.folder, ignore_errors=True)


def _opened(folder: Path) -> sqlite3.Connection:
    database = sqlite3.connect(folder / "progress.db", timeout=0)
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    # A power cut may lose the latest checkpoints, never the order: rows are on disk before theirs
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    database.execute("PRAGMA cache_size = -65536")  # 64 MiB
    database.execute("BEGIN EXCLUSIVE")
    database.commit()
    database.executescript(_TABLES)
    return database


def _clear(folder: Path, database: sqlite3.Connection) -> None:
    """Remove what another export left."""
    for name in ("state", "seen", "tasks"):
        database.execute(f"DELETE FROM {name}")
    database.commit()
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif not entry.name.startswith("progress.db"):
            entry.unlink()


def _reason(cause: Exception) -> str:
    locked = isinstance(cause, sqlite3.OperationalError) and "locked" in str(cause)
    return "another export writes there now" if locked else one_line(cause)
