"""Files that are complete or absent: written under a temporary name, then moved."""

from pathlib import Path

from agentevol.core.errors import RunStopped
from agentgym_store.errors import StoreError
from agentgym_store.files import whole_file


def write_atomically(file: Path, text: str) -> None:
    """Write a file atomically; a full disk raises a `RunStopped` that says so."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with whole_file(file) as stream:
            stream.write(text.encode())
    except StoreError as cause:
        raise RunStopped(str(cause)) from cause
