"""Discovery of the benchmark's own files (`find`), and of their published versions (`blob_id`).

items_shuffle.json, items_shuffle_1000.json     a list of products
items_ins_v2.json, items_ins_v2_1000.json       id -> attributes, instruction, instruction_attributes
items_human_ins.json                            id -> instructions that people wrote, each with its goal
purchase_prices.json                            mode -> id -> price; not the benchmark's: one draw of its
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from agentgym_envs.webshop.catalogues.stored import CatalogueError

PUBLISHED = {
    "items_shuffle_1000.json": "08dfda9a",
    "items_human_ins.json": "b2ab7479",
    "items_ins_v2_1000.json": "22837ad9",
}
"""File -> prefix of its git blob id, if that is known."""
PRICES = "purchase_prices.json"


class Files(NamedTuple):
    """Files of one catalogue."""

    products: Path
    annotations: Path
    human: Path | None
    prices: Path | None

    def all(self) -> Iterator[tuple[str, Path]]:
        """Role of each file, for a catalogue's settings, with the file."""
        return ((name, path) for name, path in self._asdict().items() if path is not None)


def find(source: Path) -> Files:
    """The files of a folder, or those beside a file of products; raises `CatalogueError` if one is missing or
    the choice is ambiguous.
    """
    folder = source.parent if source.is_file() else source
    if not folder.is_dir():
        raise CatalogueError(f"{source} is no folder")
    lists = [source] if source.is_file() else sorted(folder.glob("items_shuffle*.json"))
    if not lists:
        raise CatalogueError(f"{source} has no items_shuffle.json or items_shuffle_1000.json")
    if len(lists) > 1:
        raise CatalogueError(f"{source} has {len(lists)} files of products; name one: {lists[-1]}")
    small = "_1000" in lists[0].name
    annotations = _fitting(folder, "items_ins_v2*.json", small)
    if annotations is None:
        raise CatalogueError(f"{folder} has no items_ins_v2.json or items_ins_v2_1000.json")
    prices = folder / PRICES
    human = _fitting(folder, "items_human_ins*.json", small)
    return Files(lists[0], annotations, human, prices if prices.is_file() else None)


def _fitting(folder: Path, pattern: str, small: bool) -> Path | None:
    """The file whose name states the same size, among several; the whole one fits both."""
    found = sorted(folder.glob(pattern), key=lambda path: (("_1000" in path.name) != small, path.name))
    return found[0] if found else None


def blob_id(path: Path) -> str:
    """Git's blob id of a file."""
    digest = hashlib.sha1(f"blob {path.stat().st_size}\0".encode(), usedforsecurity=False)
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()
