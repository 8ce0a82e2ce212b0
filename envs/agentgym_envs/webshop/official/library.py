"""Library of imported catalogues: `opened`, `counts`, `verify`.

home/webshop/manifest.json      which folder counts for each name
home/webshop/1k-.../            a stored catalogue
"""

from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from agentgym_envs.core import Record
from agentgym_envs.import_report import FileName
from agentgym_envs.webshop.catalogues.stored import CatalogueError, StoredCatalogue, damage

MANIFEST = "manifest.json"
NAMES = ("1k", "full")
"""Catalogues of the benchmark: of up to 1,000 products, and all."""


class Entry(Record):
    """Manifest entry of one catalogue."""

    folder: FileName
    digest: str
    """Digest of the catalogue at import."""
    products: int
    tasks: dict[str, int]
    """Number of tasks by split, for example `1k-synthetic-test`."""


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    catalogues: dict[str, Entry]


def folder_of(home: Path) -> Path:
    """Folder of the catalogues of a home."""
    return home / "webshop"


def imported(home: Path) -> dict[str, Entry]:
    """Imported catalogues under `home` by name; raises `CatalogueError` for a broken manifest."""
    path = folder_of(home) / MANIFEST
    try:
        return Manifest.model_validate_json(path.read_bytes()).catalogues
    except FileNotFoundError:
        return {}
    except ValidationError:
        raise CatalogueError(f"{path} is broken: import the catalogue again") from None


def opened(home: Path, name: str) -> StoredCatalogue:
    """A catalogue, shared within the process; raises `CatalogueError` if it is not imported, or its files
    have changed.
    """
    entry = imported(home).get(name)
    if entry is None:
        raise CatalogueError(
            f"the catalogue {name!r} is not imported under {home}: agentevol data import webshop DIR"
        )
    try:
        return _opened(folder_of(home) / entry.folder)
    except (CatalogueError, OSError):
        now = imported(home).get(name)
        if now is None or now.folder == entry.folder:
            raise
        return _opened(folder_of(home) / now.folder)  # it has just been imported again


def counts(home: Path) -> dict[str, int] | None:
    """Tasks by split over all catalogues; None if nothing was imported."""
    found = imported(home)
    return {split: number for entry in found.values() for split, number in entry.tasks.items()} or None


def verify(home: Path) -> list[str]:
    """Errors of the imported files, one line each; empty if there are none, or nothing was imported."""
    try:
        found = imported(home)
    except (CatalogueError, OSError) as error:
        return [str(error)]
    return [line for entry in found.values() for line in _damage(folder_of(home) / entry.folder, entry)]


def _damage(folder: Path, entry: Entry) -> list[str]:
    found = damage(folder)
    if not found and StoredCatalogue.open(folder).digest != entry.digest:
        return [f"{folder}: it is sound, but not the catalogue that was imported"]
    return found


@lru_cache(maxsize=4)
def _opened(folder: Path) -> StoredCatalogue:
    return StoredCatalogue.open(folder)
