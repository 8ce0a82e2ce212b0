"""Catalogue on disk: memory-mapped, so that it opens at once and processes share its pages.

Data are read on access, and little is cached: products are decoded on every access, except the latest ones.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.files import flush_to_disk
from agentgym_envs.search.flat import Files, mapped
from agentgym_envs.search.keys import Groups, Keys, decoded
from agentgym_envs.search.stored import StoredIndex
from agentgym_envs.webshop.catalogues.catalogue import Label
from agentgym_envs.webshop.catalogues.manifest import (
    FILE,
    FORMAT,
    About,
    CatalogueError,
    Manifest,
    damage,
    read,
)
from agentgym_envs.webshop.catalogues.records import Records
from agentgym_envs.webshop.catalogues.views import Ids, Products, Wishes
from agentgym_envs.webshop.catalogues.writing import LABELS, Prices, rank_of, write_products, write_wishes
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.taggers import TAGGERS, nouns_by
from agentgym_envs.webshop.wishes import Wish

__all__ = ["About", "CatalogueError", "StoredCatalogue", "Wishes", "damage", "write"]


class StoredCatalogue:
    """`catalogue.Catalogue` on disk, with prices, nouns and goals. It is thread-safe."""

    @classmethod
    def open(cls, folder: Path) -> "StoredCatalogue":
        """Open and check format and sizes; `damage` compares contents. Raises `CatalogueError`."""
        return cls(folder, read(folder))

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.about = manifest.about
        self.digest = manifest.digest
        """SHA-256 in hex, of the whole content."""
        self.goal_sets = manifest.goal_sets
        self._files = manifest.files
        self._asins: NDArray[Any] = self._array("asins")
        self._places: NDArray[np.int32] = self._array("places")
        self._ranks: NDArray[np.int32] = self._array("ranks")
        self._prices: NDArray[np.float64] = self._array("prices")
        self._records = self._records_of("products")
        self._labels = {kind: self._groups(kind) for kind in LABELS}
        self.index = StoredIndex.of(self._array)
        self.products: Mapping[str, Product] = Products(self._records, self._place, self._asin)

    def search(self, text: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return [decoded(bytes(self._asins[document])) for document, _ in self.index.search(text)]

    def labelled(self, kind: Label, label: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return Ids(self._labels[kind].of(label), self._asin)

    def price(self, asin: str) -> float:
        """Purchase price of a product, in dollars."""
        return float(self._prices[self._place(asin)])

    def nouns_of(self, asin: str, tagger: str | None = None) -> tuple[str, ...]:
        """Nouns of a product's title by a tagger of `TAGGERS`; None: by `about.nouns`, whose nouns are
        stored.
        """
        if tagger in (None, self.about.nouns):
            return tuple(self._records.read(self._place(asin))[-1])
        return nouns_by(tagger, self.products[asin].title)

    def wishes(self, goal_set: str) -> Wishes:
        """Goals of a set; raises `LookupError` for an unknown one."""
        if goal_set not in self.goal_sets:
            there = ", ".join(self.goal_sets) or "none"
            raise LookupError(f"the catalogue has no goals {goal_set!r}; it has {there}")
        name = _file_of(self.goal_sets.index(goal_set))
        return Wishes(self._records_of(name), self._groups(f"{name}.ids"), self._groups(f"{name}.splits"))

    def _place(self, asin: str) -> int:
        rank = rank_of(self._asins, asin)
        if rank is None:
            raise KeyError(asin)
        return int(self._places[rank])

    def _asin(self, place: int) -> str:
        return decoded(bytes(self._asins[self._ranks[place]]))

    def _array(self, name: str) -> NDArray[Any]:
        if name not in self._files:
            raise CatalogueError(f"{self.folder / FILE} is damaged: it does not name {name}")
        return mapped(self.folder / name, self._files[name])

    def _records_of(self, name: str) -> Records:
        blob = self._array(f"{name}.blob")
        return Records(str(self.folder / f"{name}.blob"), blob, self._array(f"{name}.begins"))

    def _groups(self, name: str) -> Groups:
        keys = Keys(self._array(f"{name}.keys.blob"), self._array(f"{name}.keys.begins"))
        return Groups(keys, self._array(f"{name}.begins"), self._array(f"{name}.members"))


def write(
    folder: Path,
    about: About,
    products: Iterable[Product],
    prices: Prices,
    goal_sets: Mapping[str, Sequence[Wish]],
    progress: Callable[[int], None] | None = None,
    processes: int = 1,
) -> StoredCatalogue:
    """Write a catalogue of products in the order of their file, replacing an existing one.

    All or nothing: it is written beside `folder` and renamed when it is on disk. Products are read one after
    another, in any number. `prices` are in dollars, by id or as a function of a product. `progress` is called
    with the number of finished products. With several `processes`, texts are analysed in as many worker
    processes; as with any spawned process, the calling script then needs its `if __name__ == "__main__":`.

    Raises `CatalogueError` for an invalid catalogue, and for a folder of other files.
    """
    if about.nouns not in TAGGERS:
        raise CatalogueError(f"nouns are found by {' or '.join(TAGGERS)}, not by {about.nouns!r}")
    if folder.exists() and any(folder.iterdir()) and not (folder / FILE).is_file():
        raise CatalogueError(f"{folder} has other files in it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    beside.chmod(0o755)
    try:
        prepare = partial(write_products, products=products, prices=prices, tagger=about.nouns)
        prepare = partial(prepare, progress=progress or _silent, processes=processes)
        _write(beside, about, goal_sets, prepare)
        _put(beside, folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return StoredCatalogue.open(folder)


def _write(
    folder: Path,
    about: About,
    goal_sets: Mapping[str, Sequence[Wish]],
    prepare: Callable[[Files, Path], NDArray[Any]],
) -> None:
    files = Files(folder)
    try:
        with tempfile.TemporaryDirectory(dir=folder) as scratch:
            asins = prepare(files, Path(scratch))
        for number, wishes in enumerate(goal_sets.values()):
            write_wishes(files, _file_of(number), wishes, asins)
        manifest = Manifest(
            format=FORMAT, about=about, products=len(asins), goal_sets=tuple(goal_sets), files=files.finish()
        )
    finally:
        files.close()
    path = folder / FILE
    path.write_text(json.dumps(manifest.model_dump(mode="json"), indent=1) + "\n", encoding="utf-8")
    flush_to_disk(path)
    flush_to_disk(folder)


def _put(made: Path, folder: Path) -> None:
    """Move into place; of two concurrent writers, the last one's catalogue stays."""
    if folder.exists() and any(folder.iterdir()):
        old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
        folder.rename(old)
        made.rename(folder)
        shutil.rmtree(old)
    else:
        made.rename(folder)
    flush_to_disk(folder.parent)


def _file_of(number: int) -> str:
    return f"goals-{number}"


def _silent(_: int) -> None:
    pass
