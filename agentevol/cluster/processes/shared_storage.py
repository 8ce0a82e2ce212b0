"""Check that a machine shares files with the driver: it finds a new file of the driver, and may write.

A token has a new name each time, which no machine has cached.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.core.errors import RunStopped
from agentgym_store.errors import one_line


class Token(Protocol):
    """A file or object that is checked on every machine."""

    def unseen(self) -> str:
        """Reason for which this machine cannot share files, to follow its name; empty where it can."""
        ...


@dataclass(frozen=True)
class InFolder:
    """Token as a file in the run's folder."""

    file: Path

    def unseen(self) -> str:
        """See `Token`."""
        try:
            text = self.file.read_text()
        except OSError:
            text = ""
        if text != self.file.name:
            return (
                "cannot see the run's folder: put --out on a file system that every node has mounted at the"
                " same path, or checkpoints in an object store (`checkpoints=s3://...`)"
            )
        if not os.access(self.file.parent, os.W_OK):
            return "may not write into the run's folder: learners write there"
        return ""


@dataclass(frozen=True)
class InStore:
    """Token as an object in the store."""

    store: CheckpointStore
    name: str

    def unseen(self) -> str:
        """See `Token`."""
        own = f"{self.name}-{secrets.token_hex(8)}"
        try:
            self.store.read(self.name)
            self.store.write(own, own)
            self.store.remove(own)
        except OSError as cause:
            return f"cannot read and write {self.store.url}: {one_line(cause)}"
        return ""


@contextmanager
def token_in(shared: Path | CheckpointStore) -> Iterator[Token]:
    """A token in the run's folder, or in the store in its place. Raises `RunStopped`."""
    name = f".{secrets.token_hex(8)}.partial"
    if isinstance(shared, CheckpointStore):
        with _written_to(shared, name) as token:
            yield token
    else:
        file = shared / name
        try:
            file.write_text(name)
            yield InFolder(file)
        finally:
            file.unlink(missing_ok=True)


@contextmanager
def _written_to(store: CheckpointStore, name: str) -> Iterator[Token]:
    try:
        store.write(name, name)
    except OSError as cause:
        raise RunStopped(f"cannot write to {store.url}: {one_line(cause)}") from cause
    try:
        yield InStore(store, name)
    finally:
        with suppress(OSError):
            store.remove(name)
