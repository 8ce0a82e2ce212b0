"""Where processes find checkpoints, and leave those that they make.

Shared    every machine sees the run's folder, at the same path
Copied    none but the driver's does: what a process needs is copied from an object store to a folder of its
          machine, once for all processes there, and stays while one of them uses it

The driver's part is `Published`.
"""

import fcntl
import shutil
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Protocol

from agentevol.checkpoint_store import CheckpointStore
from agentevol.protocols import Checkpoint
from agentgym_envs.home import data_home


class Copies(Protocol):
    """What a process on any machine asks for."""

    def use(self, *wanted: Checkpoint | None) -> None:
        """From now on this process reads these checkpoints, and no others. Raises `RunStopped`."""
        ...

    def here(self, checkpoint: Checkpoint) -> Checkpoint:
        """One of them, as it is found on this machine."""
        ...

    def place(self, path: Path) -> Path:
        """Where a new folder or file is written on this machine that belongs to `path`."""
        ...

    def hand_in(self, path: Path) -> None:
        """The folder that belongs to `path` is written. Raises `RunStopped`."""
        ...


def copies(store: CheckpointStore | None) -> Copies:
    """With a store for a process on any machine, else for one that sees the run's folder."""
    return Shared() if store is None else Copied(store)


class Shared:
    """Everything is where it belongs."""

    def use(self, *wanted: Checkpoint | None) -> None:
        pass

    def here(self, checkpoint: Checkpoint) -> Checkpoint:
        return checkpoint

    def place(self, path: Path) -> Path:
        return path

    def hand_in(self, path: Path) -> None:
        pass


class Copied:
    """Copies below `checkpoints/` of the machine's `AGENTEVOL_HOME`, any of which several processes may use.

    What a process makes lies apart until the process is asked to use it, and is so known to be what the
    driver has: one that was lost may have left another one of the same name.
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
        """By path of the run: a lock that says that it is in use."""
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
        shutil.rmtree(made, ignore_errors=True)  # of a process that was lost before it could hand it in
        return made

    def hand_in(self, path: Path) -> None:
        self._store.put(path, self._made(path))
        self._handed_in.add(path)

    def _hold(self, path: Path) -> IO[str]:
        """A lock under which the folder is there and stays."""
        name, folder = self._store.below(path), self._used(path)
        lock = (self._root / "locks" / name.replace("/", "+")).open("a")
        while True:
            fcntl.flock(lock, fcntl.LOCK_SH)
            if folder.is_dir():
                return lock
            fcntl.flock(lock, fcntl.LOCK_EX)  # others may have had it in between
            if not folder.is_dir():
                self._bring(path, folder)

    def _bring(self, path: Path, folder: Path) -> None:
        if path in self._handed_in:
            folder.parent.mkdir(parents=True, exist_ok=True)
            self._made(path).rename(folder)
        else:
            self._store.get(path, folder)

    def _remove_unused(self) -> None:
        """What this process made and does not use, and what no process of this machine uses."""
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
    """A lock that says that a process lives whose copies are here."""
    (root / "locks").mkdir(parents=True, exist_ok=True)
    lock = (root / "alive").open("a")
    fcntl.flock(lock, fcntl.LOCK_SH)
    return lock


def _remove_ended(runs: Path) -> None:
    """Remove the copies of drivers all whose processes on this machine have ended."""
    for file in runs.glob("*/alive"):
        with file.open("a") as lock, suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(file.parent, ignore_errors=True)


class Published:
    """The driver's part: other machines find what it hands out, and it takes in what they have made."""

    def __init__(self, store: CheckpointStore | None) -> None:
        self._store = store
        self._there: set[Path] = set()
        """Which the store holds as they are in the run's folder."""
        self._lock = Lock()

    def hand_out(self, *wanted: Checkpoint | None) -> None:
        """Let these be found. Raises `RunStopped`."""
        if self._store is None:
            return
        with self._lock:
            for path in {one.path for one in wanted if one is not None} - self._there:
                self._store.put(path)
                self._there.add(path)

    def take_in(self, path: Path) -> None:
        """Bring what was made to its place in the run's folder. Raises `RunStopped`."""
        if self._store is None:
            return
        with self._lock:
            self._store.get(path, path)
            self._there.add(path)
