"""Large read-only files of environments, memory-mapped once per process.

> mapped(Path("atlas.bin"))[10_000_000_000:10_000_000_004].tobytes()
b'town'

Only pages that are read come into memory. They belong to the operating system's file cache: all processes of
the machine share them, and they are dropped when memory is short. So a file may be larger than memory.
"""

import mmap
from functools import cache
from pathlib import Path


def mapped(path: Path) -> memoryview:
    """The bytes of a file; views of one file share one mapping. Raises `OSError`.

    The file must not be written while it is used. A new version is moved to its place, and gets a mapping of
    its own.
    """
    stat = path.stat()
    if not stat.st_size:
        return memoryview(b"")
    return memoryview(_mapping(path.resolve(), stat.st_ino, stat.st_size, stat.st_mtime_ns))


@cache
def _mapping(path: Path, *version: int) -> mmap.mmap:  # noqa: ARG001 - a part of the cache's key
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
