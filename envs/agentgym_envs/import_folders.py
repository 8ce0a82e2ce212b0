"""Folders of imported data, for the importers of all environments: `draft`, `publish`,
`read_manifest`, `difference`, `bounded_text`; and `ImportedFile`, of imports that are one file.

A new folder is complete before the manifest names it, so that an interrupted import changes nothing.
"""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ValidationError

from agentgym_envs.core import Record
from agentgym_envs.files import file_sha256
from agentgym_envs.import_report import FileName

M = TypeVar("M", bound=BaseModel)
MANIFEST = "manifest.json"
"""File that names the current folder."""


@contextmanager
def draft(root: Path, prefix: str) -> Generator[Path]:
    """A new folder below `root`, which is removed where the block raises."""
    root.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=root))
    try:
        yield folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def publish(root: Path, folder: Path, manifest: BaseModel, before: str | None) -> None:
    """Atomically switch to a finished folder by its manifest, and remove the folder `before`, if there is
    one.
    """
    folder.chmod(0o755)  # a temporary folder is accessible to its owner only
    written = folder / MANIFEST
    written.write_text(manifest.model_dump_json(indent=2) + "\n", encoding="utf-8")
    written.replace(root / MANIFEST)
    if before is not None and before != folder.name:
        shutil.rmtree(root / before, ignore_errors=True)


def read_manifest(path: Path, kind: type[M], error: type[Exception]) -> M | None:
    """The manifest of an import; None where there is none. Raises `error` for a broken one."""
    try:
        return kind.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValidationError as cause:
        raise error(f"{path} is broken: import the data again") from cause


def difference(path: Path, digest: str) -> str | None:
    """A line where a file is missing, or has another SHA-256 than when it was imported; else None."""
    if not path.is_file():
        return f"{path} is missing: import the data again"
    if file_sha256(path) != digest:
        return f"{path} has changed since it was imported: import the data again"
    return None


def bounded_text(path: Path, most: int, error: type[Exception], encoding: str = "utf-8") -> str:
    """The text of a file of at most `most` bytes. Raises `error`, in one line, for a larger one and for bytes
    that are no text, and `OSError` if it cannot be read.
    """
    size = path.stat().st_size
    if size > most:
        raise error(f"{path} has {size:,} bytes; at most {most:,} are read")
    try:
        return path.read_text(encoding=encoding)
    except UnicodeDecodeError as cause:
        raise error(f"{path} is not UTF-8: {cause.reason}") from None


class FileManifest(Record):
    """Content of `manifest.json` of an import that is one file."""

    format: Literal[1] = 1
    folder: FileName
    sha256: str
    """Hash of the file."""
    counts: dict[str, int]
    """Tasks by split."""


@dataclass(frozen=True)
class ImportedFile:
    """Place of an import that is one file.

    home/FOLDER/manifest.json     counts and hash; written last
    home/FOLDER/DRAFT.../FILE
    """

    folder: str
    file: str
    error: type[Exception]
    """Raised for a broken manifest."""

    def manifest(self, home: Path) -> FileManifest | None:
        """The manifest; None if nothing was imported. Raises `error` for a broken one."""
        return read_manifest(home / self.folder / MANIFEST, FileManifest, self.error)

    def path(self, home: Path, manifest: FileManifest) -> Path:
        """The file that the manifest names."""
        return home / self.folder / manifest.folder / self.file

    def counts(self, home: Path) -> dict[str, int] | None:
        """Tasks by split; None if nothing was imported."""
        manifest = self.manifest(home)
        return None if manifest is None else dict(manifest.counts)

    def verify(self, home: Path) -> list[str]:
        """Differences between the file and the manifest."""
        try:
            manifest = self.manifest(home)
        except self.error as cause:
            return [str(cause)]
        found = None if manifest is None else difference(self.path(home, manifest), manifest.sha256)
        return [] if found is None else [found]

    def publish(self, home: Path, folder: Path, counts: dict[str, int]) -> None:
        """Switch to a finished folder with the file, in place of an earlier import, also of a broken one."""
        try:
            before = self.manifest(home)
        except self.error:
            before = None
        manifest = FileManifest(folder=folder.name, sha256=file_sha256(folder / self.file), counts=counts)
        publish(home / self.folder, folder, manifest, before.folder if before else None)
