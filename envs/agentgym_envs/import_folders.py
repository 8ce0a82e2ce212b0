"""Folders of imported data, for the importers of all environments: `draft`, `publish`, `bounded_text`.

A new folder is complete before the manifest names it, so that an interrupted import changes nothing.
"""

import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

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
