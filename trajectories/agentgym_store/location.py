"""Location of a table: a folder, or a URL of an object store.

    Place.of(Path("runs/a/trajectories"))
    Place.of("s3://bucket/runs/a")

delta-rs accesses an object store for the log and the Parquet files alike: credentials, region and endpoint
come from the environment variables (`AWS_...`, `GOOGLE_...`, `AZURE_...`).
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
"""Options of the first request to a store: a wrong endpoint is reported in seconds. Later requests use
delta-rs's own limit, three minutes.
"""


class Place:
    """Folder, or prefix of an object store."""

    def __init__(self, name: str, is_remote: bool) -> None:
        self.name = name
        """Absolute path, or URL without a trailing slash."""
        self.is_remote = is_remote

    @classmethod
    def of(cls, given: Path | str) -> "Place":
        """Parse a path or URL; raises `StoreError` for names that Delta tables cannot have."""
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
        """pyarrow file system with this place as its root."""
        if not self.is_remote:
            return fs.SubTreeFileSystem(self.name, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.name))

    def holds_table(self) -> bool:
        """True if a Delta table is here."""
        return DeltaTable.is_deltatable(self.name, _QUICKLY if self.is_remote else None)

    def names(self) -> Sequence[str]:
        """Names of the other entries, one level deep; none if the folder does not exist."""
        here = fs.FileSelector("", allow_not_found=True)
        try:
            found = self.files.get_file_info(here)
        except FileNotFoundError:  # arrow's answer where the folder came into being while it looked
            found = self.files.get_file_info(here)
        return [entry.base_name for entry in found]

    def make(self) -> None:
        """Create the folder; prefixes need no creation."""
        if not self.is_remote:
            Path(self.name).mkdir(parents=True, exist_ok=True)

    def size(self, name: str) -> int:
        """Size of a file in bytes."""
        return int(self.files.get_file_info(name).size)

    def remove(self, name: str) -> None:
        """Remove a file if possible: a file outside the log harms no reader."""
        with suppress(OSError):
            self.files.delete_file(name)

    def full(self, name: str) -> str:
        """The path or URL of a file."""
        return f"{self.name}/{name}"
