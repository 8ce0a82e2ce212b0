"""Imported recipes: where they are, and whether they are whole.

home/textcraft/manifest.json           counts and hash; written last
home/textcraft/recipes-.../recipes.json
"""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Literal

from agentgym_envs.core import Record
from agentgym_envs.import_folders import MANIFEST, difference, read_manifest
from agentgym_envs.import_report import FileName
from agentgym_envs.textcraft.recipes import RecipeBook, RecipeError, read

FOLDER: Final = "textcraft"
RECIPES: Final = "recipes.json"


class Manifest(Record):
    """Content of `manifest.json`."""

    format: Literal[1] = 1
    folder: FileName
    sha256: str
    """Hash of the file of recipes."""
    counts: dict[str, int]
    """Goals by split."""


def manifest_of(home: Path) -> Manifest | None:
    """The manifest of the import; None where there is none. Raises `RecipeError` for a broken one."""
    return read_manifest(home / FOLDER / MANIFEST, Manifest, RecipeError)


def counts(home: Path) -> dict[str, int] | None:
    """Goals by split; None if nothing was imported."""
    manifest = manifest_of(home)
    return None if manifest is None else dict(manifest.counts)


def verify(home: Path) -> list[str]:
    """Differences between the imported file and the manifest."""
    try:
        manifest = manifest_of(home)
    except RecipeError as cause:
        return [str(cause)]
    if manifest is None:
        return []
    found = difference(home / FOLDER / manifest.folder / RECIPES, manifest.sha256)
    return [] if found is None else [found]


def imported(home: Path) -> tuple[RecipeBook, str]:
    """The imported book and the digest of its file. Raises `RecipeError` where nothing was imported."""
    manifest = manifest_of(home)
    if manifest is None:
        raise RecipeError("no recipes were imported: agentevol data import textcraft FOLDER")
    return _read(home / FOLDER / manifest.folder / RECIPES, manifest.sha256), manifest.sha256


@lru_cache(maxsize=2)
def _read(path: Path, digest: str) -> RecipeBook:
    line = difference(path, digest)
    if line:
        raise RecipeError(line)
    values: list[tuple[str, Any]] = [(name, value) for name, value in json.loads(path.read_text("utf-8"))]
    return RecipeBook(read(values))
