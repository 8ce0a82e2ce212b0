"""Folders of a run in an object store, for machines that do not share the driver's disk.

    store = CheckpointStore("s3://bucket/runs/a", folder)
    store.put(folder / "checkpoints" / "0003")                 # -> s3://bucket/runs/a/checkpoints/0003/...
    store.get(folder / "checkpoints" / "0003", elsewhere)

The store holds copies: on the driver's machine the run's folder holds the same.
`agentevol.cluster.checkpoints.access` determines which process copies what, and when. The store is
accessed like one that holds a table (`agentgym_store.location`).
"""

import secrets
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from pyarrow import fs

from agentevol.core.errors import ConfigError, RunStopped
from agentevol.models.checkpoints import disk_is_full, sync
from agentgym_store.errors import StoreError, one_line
from agentgym_store.location import Place

_LAST = "config.json"
"""File without which a folder is no model; it is copied last, so that a partial copy is recognised."""
_AT_ONCE = 8
"""Files copied concurrently."""
_CHUNK = 2**25
"""Bytes of one request."""


@dataclass(frozen=True)
class CheckpointStore:
    """Mapping of paths below `folder` on the driver's machine to names below `url`."""

    url: str
    folder: Path
    session: str = field(default_factory=lambda: secrets.token_hex(8))
    """Id of the driver's session: copies of an earlier driver on other machines may differ from this
    one's.
    """

    def put(self, path: Path, source: Path | None = None) -> None:
        """Copy the folder `source`, or `path` itself, to the name of `path` in the store, replacing an
        earlier copy. Raises `RunStopped`.
        """
        source, there = source or path, self.below(path)
        names = sorted(str(file.relative_to(source)) for file in source.rglob("*") if file.is_file())

        def send(name: str) -> None:
            to = {"destination_filesystem": self._files, "chunk_size": _CHUNK}
            fs.copy_files(str(source / name), f"{there}/{name}", **to)

        with self._told(f"cannot write {self.url}/{there}"):
            for name in sorted(self._names(there), key=_LAST.__ne__):
                self._files.delete_file(f"{there}/{name}")
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                list(pool.map(send, (name for name in names if name != _LAST)))
            if _LAST in names:
                send(_LAST)

    def get(self, path: Path, into: Path) -> None:
        """Copy the store's copy of `path` into the new folder `into`: on disk when this returns, absent when
        it raises `RunStopped`.
        """
        there, partial = self.below(path), into.with_name(f".{into.name}.partial")

        def fetch(name: str) -> None:
            (partial / name).parent.mkdir(parents=True, exist_ok=True)
            of = {"source_filesystem": self._files, "chunk_size": _CHUNK}
            fs.copy_files(f"{there}/{name}", str(partial / name), **of)

        with self._told(f"cannot copy {self.url}/{there} to {into}"):
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir(parents=True)
            try:
                names = self._names(there)
                if _LAST not in names:
                    raise FileNotFoundError(f"there is no {_LAST}, without which it is no model")
                with ThreadPoolExecutor(_AT_ONCE) as pool:
                    list(pool.map(fetch, names))
                sync(partial)
                partial.rename(into)
            except BaseException:
                shutil.rmtree(partial, ignore_errors=True)
                raise

    def write(self, name: str, text: str) -> None:
        """Write a text below the URL. Raises `OSError`."""
        with NamedTemporaryFile("w", encoding="utf-8") as file:  # its streams take no bytes from Python
            file.write(text)
            file.flush()
            fs.copy_files(file.name, name, destination_filesystem=self._files)

    def read(self, name: str) -> str:
        """Read a text below the URL. Raises `OSError`."""
        with self._files.open_input_file(name) as stream:
            return stream.read().decode()

    def remove(self, name: str) -> None:
        """Remove a text. Raises `OSError`."""
        self._files.delete_file(name)

    def check_free(self) -> None:
        """Raise `ConfigError` where the URL is not empty, or cannot be read."""
        try:
            taken = Place.of(self.url).names()
        except (OSError, StoreError) as cause:
            raise ConfigError(f"cannot read {self.url}: {one_line(cause)}") from cause
        if taken:
            raise ConfigError(f"{self.url} is not empty: each run has one of its own; name another")

    def below(self, path: Path) -> str:
        """Name of a path of the run below the URL, and below the folder."""
        return path.relative_to(self.folder).as_posix()

    def _names(self, there: str) -> list[str]:
        """Names of the files of a folder."""
        selector = fs.FileSelector(there, recursive=True, allow_not_found=True)
        return [
            entry.path.removeprefix(f"{there}/")
            for entry in self._files.get_file_info(selector)
            if entry.is_file
        ]

    @property
    def _files(self) -> Any:
        return Place.of(self.url).files

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        try:
            yield
        except OSError as cause:
            reason = "the disk is full" if disk_is_full(cause) else one_line(cause)
            raise RunStopped(f"{what}: {reason}; fix this and resume the run") from cause
