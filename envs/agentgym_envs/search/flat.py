"""Arrays in files without a header: appended to while they are written, memory-mapped afterwards."""

import hashlib
import os
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.files import file_sha256, flush_to_disk
from agentgym_envs.search.manifest import Flat


def mapped(path: Path, flat: Flat) -> NDArray[Any]:
    """A read-only memory-mapped array; processes that map the file share its pages."""
    if not flat.length:  # an empty file cannot be mapped
        return np.zeros(0, flat.dtype)
    return np.asarray(np.memmap(path, flat.dtype, "r", shape=(flat.length,)))


class Files:
    """Writer of the arrays of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open: dict[str, _Appended] = {}
        self._placed: dict[str, NDArray[Any]] = {}

    def add(self, name: str, array: NDArray[Any]) -> None:
        """Append to a file, which has one type from its first array on."""
        if name not in self._open:
            self._open[name] = _Appended(self._folder / name, array.dtype)
        self._open[name].add(array)

    def placed(self, name: str, dtype: Any, length: int) -> NDArray[Any]:
        """A file to be filled in any order."""
        path, kind = self._folder / name, np.dtype(dtype).newbyteorder("<")
        with path.open("wb") as file:
            _reserve(file, length * kind.itemsize)
        array = np.memmap(path, kind, "r+", shape=(length,)) if length else np.zeros(0, kind)
        self._placed[name] = array
        return array

    def finish(self) -> dict[str, Flat]:
        """Flush all files to disk and return the arrays by name."""
        found = {name: file.finish() for name, file in self._open.items()}
        for name, array in self._placed.items():
            if isinstance(array, np.memmap):
                array.flush()
            flush_to_disk(self._folder / name)
            sha256 = file_sha256(self._folder / name)
            found[name] = Flat(dtype=array.dtype.str, length=len(array), sha256=sha256)
        return dict(sorted(found.items()))

    def close(self) -> None:
        """Close the files of an aborted write."""
        for file in self._open.values():
            file.file.close()


class _Appended:
    def __init__(self, path: Path, dtype: np.dtype[Any]) -> None:
        self.file: BinaryIO = path.open("wb")
        self._dtype = dtype.newbyteorder("<")
        self._length = 0
        self._hash = hashlib.sha256()

    def add(self, array: NDArray[Any]) -> None:
        data = np.ascontiguousarray(array, self._dtype).tobytes()
        self.file.write(data)
        self._hash.update(data)
        self._length += len(array)

    def finish(self) -> Flat:
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()
        return Flat(dtype=self._dtype.str, length=self._length, sha256=self._hash.hexdigest())


def _reserve(file: BinaryIO, size: int) -> None:
    """Reserve disk space: a full disk is then an `OSError`; writing to an unallocated mapped page kills the
    process.
    """
    if size and hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file.fileno(), 0, size)
    elif size:
        file.truncate(size)
