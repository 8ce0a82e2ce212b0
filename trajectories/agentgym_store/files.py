"""Atomic files: they are complete or absent."""

import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from agentgym_store.errors import StoreError, one_line


@contextmanager
def whole_file(path: Path) -> Generator[BinaryIO]:
    """A file that takes its name when the block ends, replacing an existing one.

    After any exception the earlier file is unchanged. Raises `StoreError` if the disk refuses.
    """
    partial = path.with_name(f".{path.name}.{uuid4().hex}.partial")
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as cause:
        raise StoreError(f"cannot write {path}: {one_line(cause)}") from cause
    finally:
        partial.unlink(missing_ok=True)


def write_lines(lines: Iterable[str], path: Path) -> int:
    """Write UTF-8 lines, each ended by a newline, and return their number; all of them or no file."""
    written = 0
    with whole_file(path) as file:
        for line in lines:
            file.write(line.encode())
            file.write(b"\n")
            written += 1
    return written
