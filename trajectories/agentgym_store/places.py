"""Where a table lies: in a folder, or under a URL of an object store.

    Place.of(Path("runs/a/trajectories"))
    Place.of("s3://bucket/runs/a")

An object store is reached as delta-rs reaches it, its log and its Parquet files alike: credentials, region
and endpoint are those of the environment (`AWS_...`, `GOOGLE_...`, `AZURE_...`).
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from deltalake import DeltaTable

from agentgym_store.arrow import fs
from agentgym_store.errors import StoreError
from agentgym_store.urls import checked, is_url

_QUICKLY = {"max_retries": "2", "retry_timeout": "10s", "connect_timeout": "5s"}
"""What is asked of a store that may not be there: a wrong endpoint is told in seconds. Later requests have
delta-rs's own patience, three minutes.
"""


class Place:
    """A folder, or a prefix of an object store."""

    def __init__(self, name: str, is_remote: bool) -> None:
        self.name = name
        """An absolute path, or a URL without a slash at its end."""
        self.is_remote = is_remote

    @classmethod
    def of(cls, given: Path | str) -> "Place":
        """Raises `StoreError` for names that Delta tables cannot have."""
        if is_url(given):
            return cls(checked(str(given)), is_remote=True)
        name = str(Path(given).absolute())
        if unquote(name) != name:
            # delta-rs decodes it twice and would write beside the folder
            raise StoreError(f"{name} looks percent-encoded, which Delta tables do not allow; rename it")
        return cls(name, is_remote=False)

    def __str__(self) -> str:
        return self.name

    @cached_property
    def files(self) -> Any:
        """A file system of pyarrow, whose root this is."""
        if not self.is_remote:
            return fs.SubTreeFileSystem(self.name, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.name))

    def holds_table(self) -> bool:
        """Whether a Delta table is here."""
        return DeltaTable.is_deltatable(self.name, _QUICKLY if self.is_remote else None)

    def names(self) -> Sequence[str]:
        """What else is here, one level deep; nothing where there is no such folder."""
        found = self.files.get_file_info(fs.FileSelector("", allow_not_found=True))
        return [entry.base_name for entry in found]

    def make(self) -> None:
        """Make the folder; prefixes need no making."""
        if not self.is_remote:
            Path(self.name).mkdir(parents=True, exist_ok=True)

    def size(self, name: str) -> int:
        """Bytes of a file."""
        return int(self.files.get_file_info(name).size)

    def remove(self, name: str) -> None:
        """Remove a file, if that can be done: one that the log does not name is in nobody's way."""
        with suppress(OSError):
            self.files.delete_file(name)

    def full(self, name: str) -> str:
        """The path or URL of a file."""
        return f"{self.name}/{name}"
