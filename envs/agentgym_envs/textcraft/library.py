"""Imported recipes: where they are, and the book that is made of them."""

import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from agentgym_envs.import_folders import ImportedFile, difference
from agentgym_envs.textcraft.recipes import RecipeBook, RecipeError, read

RECIPES: Final = ImportedFile("textcraft", "recipes.json", RecipeError)
"""The imported recipes."""


def imported(home: Path) -> tuple[RecipeBook, str]:
    """The imported book and the digest of its file. Raises `RecipeError` where nothing was imported."""
    manifest = RECIPES.manifest(home)
    if manifest is None:
        raise RecipeError("no recipes were imported: agentevol data import textcraft FOLDER")
    return _read(RECIPES.path(home, manifest), manifest.sha256), manifest.sha256


@lru_cache(maxsize=2)
def _read(path: Path, digest: str) -> RecipeBook:
    line = difference(path, digest)
    if line:
        raise RecipeError(line)
    values: list[tuple[str, Any]] = [(name, value) for name, value in json.loads(path.read_text("utf-8"))]
    return RecipeBook(read(values))
