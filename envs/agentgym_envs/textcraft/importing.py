"""Import of a folder of recipes: `import_official`. `agentgym_envs.textcraft.library` finds imported ones."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from agentgym_envs.import_folders import bounded_text, draft
from agentgym_envs.import_report import ImportReport, Refused
from agentgym_envs.textcraft.library import RECIPES
from agentgym_envs.textcraft.recipes import RecipeBook, RecipeError, read
from agentgym_envs.textcraft.splits import goals_by_split

__all__ = ["counts", "import_official", "verify"]

MOST_BYTES = 2**26
"""Bytes of a file."""
counts, verify = RECIPES.counts, RECIPES.verify
NOTE = "play them: agentevol run env=textcraft environment.options.book=imported"


def import_official(source: Path, home: Path, progress: Callable[[int], None] | None = None) -> ImportReport:
    """Import the recipes of a JSON file, or of the JSON files of a folder, replacing an earlier import.

    A file holds one recipe or a list of them. Raises `RecipeError` where nothing can be crafted, and
    `OSError`.
    """
    refused, kept = list[Refused](), list[tuple[str, Any]]()
    for number, (name, value) in enumerate(_values(source, refused)):
        if progress is not None:
            progress(number)
        try:
            read([(name, value)])
        except RecipeError as cause:
            refused.append(Refused(name, str(cause).removeprefix(f"{name}: ")))
        else:
            kept.append((name, value))
    book = RecipeBook(read(kept))
    if not book.goals:
        first = f"; {refused[0].name}: {refused[0].reason}" if refused else ""
        raise RecipeError(f"{source} has no recipe by which anything can be crafted{first}")
    found = {split: len(goals) for split, goals in goals_by_split(book, frozenset[str]()).items() if goals}
    with draft(home / RECIPES.folder, "recipes-") as folder:
        (folder / RECIPES.file).write_text(json.dumps(kept), encoding="utf-8")
        RECIPES.publish(home, folder, found)
    left_out = len(kept) - len(book.recipes)
    warnings = (
        (f"{left_out:,} are no crafting recipes, unpack a block, or go in circles",) if left_out else ()
    )
    return ImportReport(found, tuple(refused), warnings, (NOTE,))


def _values(source: Path, refused: list[Refused]) -> Iterator[tuple[str, Any]]:
    """Values of the files with their names, in the order of names."""
    paths = sorted(source.rglob("*.json"), key=lambda path: path.name) if source.is_dir() else [source]
    for path in paths:
        try:
            value = json.loads(bounded_text(path, MOST_BYTES, RecipeError))
        except (RecipeError, ValueError, RecursionError) as cause:
            refused.append(Refused(path.name, f"no JSON: {cause}"))
            continue
        if isinstance(value, list):
            recipes = cast("list[Any]", value)
            yield from ((f"{path.name}#{place:05d}", one) for place, one in enumerate(recipes))
        else:
            yield path.name, value
