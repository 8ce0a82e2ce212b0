"""Access of processes to checkpoints, on a shared file system or through an object store.

Shared    every machine sees the run's folder, at the same path
Copied    only the driver's machine does: a process copies what it needs from an object store to a folder of
          its machine, once for all processes there; the copy stays while one of them uses it

`Published` is the driver's side.
"""

import fcntl
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Protocol

from agentevol.cluster.checkpoints.object_store import CheckpointStore
from agentevol.core.protocols import Checkpoint
from agentgym_envs.home import data_home


class Copies(Protocol):
    """Access to checkpoints for a process on any machine."""

    def use(self, *wanted: Checkpoint | None) -> None:
        """Declare that this process reads these checkpoints from now on, and no others. Raises
        `RunStopped`.
        """
        ...

    def here(self, checkpoint: Checkpoint) -> Checkpoint:
        """A checkpoint at its path on this machine."""
        ...

    def place(self, path: Path) -> Path:
        """Path on this machine at which a new folder or file for `path` is written."""
        ...

    def hand_in(self, path: Path) -> None:
        """Upload the complete folder for `path`. Raises `RunStopped`."""
        ...


def copies(store: CheckpointStore | None) -> Copies:
    """With a store, access for a process on any machine, else for one that sees the run's folder."""
    return Shared() if store is None else Copied(store)


class Shared:
    """Direct access: every path is in the run's folder."""

    def use(self, *wanted: Checkpoint | None) -> None:
        pass

    def here(self, checkpoint: Checkpoint) -> Checkpoint:
        return checkpoint

    def place(self, path: Path) -> Path:
        return path

    def hand_in(self, path: Path) -> None:
        pass


class Copied:
    """Copies below `checkpoints/` of the machine's `AGENTEVOL_HOME`, each of which several processes may use.

    New checkpoints are staged in a separate folder until the process is told to use them, which confirms that
    the driver has the same: a lost process may have left another checkpoint of the same name.
    """

    def __init__(self, store: CheckpointStore) -> None:
        self._store = store
        self._root = data_home() / "checkpoints" / store.session
        self._root.parent.mkdir(parents=True, exist_ok=True)
        with (self._root.parent / ".lock").open("a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self._alive = _marked(self._root)
            _remove_ended(self._root.parent)
        self._held: dict[Path, IO[str]] = {}
        """By path in the run: the lock of a copy in use."""
        self._handed_in: set[Path] = set()

    def use(self, *wanted: Checkpoint | None) -> None:
        paths = {checkpoint.path for checkpoint in wanted if checkpoint is not None}
        for path in paths - self._held.keys():
            self._held[path] = self._hold(path)
        for path in self._held.keys() - paths:
            self._held.pop(path).close()
        self._remove_unused()

    def here(self, checkpoint: Checkpoint) -> Checkpoint:
        return Checkpoint(self._used(checkpoint.path), checkpoint.version)

    def place(self, path: Path) -> Path:
        made = self._made(path)
        made.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(made, ignore_errors=True)  # of a process that was lost before the upload
        return made

    def hand_in(self, path: Path) -> None:
        self._store.put(path, self._made(path))
        self._handed_in.add(path)

    def _hold(self, path: Path) -> IO[str]:
        """Acquire a lock under which the folder is complete and stays."""
        name, folder = self._store.below(path), self._used(path)
        lock = (self._root / "locks" / name.replace("/", "+")).open("a")
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.is_dir():
                return lock
            fcntl.flock(lock, fcntl.LOCK_EX)  # others may have held it in between
            if not folder.is_dir():
                self._bring(path, folder)

    def _bring(self, path: Path, folder: Path) -> None:
        if path in self._handed_in:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._made(path).rename(folder)
        else:
            self._store.get(path, folder)

    def _remove_unused(self) -> None:
        """Remove staged folders that this process does not use, and copies that no process of this machine
        uses.
        """
        while self._handed_in:
            shutil.rmtree(self._made(self._handed_in.pop()), ignore_errors=True)
        for file in (self._root / "locks").iterdir():
            with file.open("a") as lock, suppress(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(self._root / "used" / file.name.replace("+", "/"), ignore_errors=True)

    def _made(self, path: Path) -> Path:
        return self._root / "made" / self._store.below(path)

    def _used(self, path: Path) -> Path:
        return self._root / "used" / self._store.below(path)


def _marked(root: Path) -> IO[str]:
    """Lock that marks a living process with copies here."""
    (root / "locks").mkdir(parents=True, exist_ok=True)
    lock = (root / "alive").open("a")
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _remove_ended(runs: Path) -> None:
    """Remove the copies of drivers whose processes on this machine have all ended."""
    for file in runs.glob("*/alive"):
        with file.open("a") as lock, suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(file.parent, ignore_errors=True)


class Published:
    """Driver's side: uploads checkpoints for other machines, and downloads those that they made."""

    def __init__(self, store: CheckpointStore | None) -> None:
        self._store = store
        self._there: set[Path] = set()
        """Paths whose current content is in the store."""
        self._lock = Lock()

    def hand_out(self, *wanted: Checkpoint | None) -> None:
        """Upload these checkpoints. Raises `RunStopped`."""
        if self._store is None:
            return
        with self._lock:
            for path in {one.path for one in wanted if one is not None} - self._there:
                self._store.put(path)
                self._there.add(path)

    def take_in(self, path: Path) -> None:
        """Download a result to its path in the run's folder. Raises `RunStopped`."""
        if self._store is None:
            return
        with self._lock:
            self._store.get(path, path)
            self._there.add(path)
