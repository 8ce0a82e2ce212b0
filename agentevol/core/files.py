"""Files that are complete or absent: written under a temporary name, then moved."""

import os
from pathlib import Path

from agentevol.core.errors import RunStopped


def write_atomically(file: Path, text: str) -> None:
    """Write a file atomically; a full disk raises a `RunStopped` that says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_name(file.name + ".partial")
    try:
        with partial.open("w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        partial.replace(file)
    except OSError as cause:
        partial.unlink(missing_ok=True)
        raise RunStopped(f"cannot write {file}: {cause.strerror}") from cause
