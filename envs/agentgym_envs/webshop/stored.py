"""A catalogue on disk: memory-mapped, so that opening takes no time and processes share what they read.

Nothing is read before it is asked for, and little is kept: products are decoded anew, but for the last ones.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.webshop import nouns
from agentgym_envs.webshop.catalogue import Label
from agentgym_envs.webshop.flat import Files, mapped, synced
from agentgym_envs.webshop.manifest import FILE, FORMAT, About, CatalogueError, Manifest, damage, read
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.records import Records, product_of, wish_of
from agentgym_envs.webshop.search.keys import Groups, Keys, decoded
from agentgym_envs.webshop.search.stored import StoredIndex
from agentgym_envs.webshop.wishes import Wish
from agentgym_envs.webshop.writing import LABELS, Prices, rank_of, write_products, write_wishes

__all__ = ["About", "CatalogueError", "StoredCatalogue", "Wishes", "damage", "write"]

KEPT = 1024
"""Products that stay decoded: about 5 MB."""


class StoredCatalogue:
    """See `catalogue.Catalogue`; prices, nouns and goals besides. It may be used by many threads."""

    @classmethod
    def open(cls, folder: Path) -> "StoredCatalogue":
        """Checks format and sizes; `damage` compares contents. Raises `CatalogueError`."""
        return cls(folder, read(folder))

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.about = manifest.about
        self.digest = manifest.digest
        """SHA-256 in hex, of all that is in it."""
        self.goal_sets = manifest.goal_sets
        self._files = manifest.files
        self._asins: NDArray[Any] = self._array("asins")
        self._places: NDArray[np.int32] = self._array("places")
        self._ranks: NDArray[np.int32] = self._array("ranks")
        self._prices: NDArray[np.float64] = self._array("prices")
        self._records = self._records_of("products")
        self._labels = {kind: self._groups(kind) for kind in LABELS}
        self.index = StoredIndex.of(self._array)
        self.products: Mapping[str, Product] = _Products(
            self._records, self._place, self._asin, len(self._places)
        )

    def search(self, text: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return [decoded(bytes(self._asins[document])) for document, _ in self.index.search(text)]

    def labelled(self, kind: Label, label: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return [self._asin(place) for place in self._labels[kind].of(label)]

    def price(self, asin: str) -> float:
        """What a product costs when it is bought, in dollars."""
        return float(self._prices[self._place(asin)])

    def nouns_of(self, asin: str) -> tuple[str, ...]:
        """Nouns of a product's title, as `about.nouns` finds them."""
        return tuple(self._records.read(self._place(asin))[-1])

    def wishes(self, goal_set: str) -> "Wishes":
        """Goals of a set; raises `LookupError` for one that is not there."""
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


class _Products(Mapping[str, Product]):
    def __init__(
        self, records: Records, place: Callable[[str], int], asin: Callable[[int], str], count: int
    ) -> None:
        self._place, self._asin, self._count = place, asin, count
        self._read = lru_cache(maxsize=KEPT)(partial(_product, records))

    def __getitem__(self, asin: str) -> Product:
        return self._read(self._place(asin))

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        return map(self._asin, range(self._count))


def _product(records: Records, place: int) -> Product:
    return product_of(records.read(place))


class Wishes(Sequence[Wish]):
    """Goals of a set in their order, each decoded when it is asked for."""

    def __init__(self, records: Records, ids: Groups, splits: Groups) -> None:
        self._records, self._ids, self._splits = records, ids, splits

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, index: int) -> Wish: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Wish]: ...

    def __getitem__(self, index: int | slice) -> Wish | Sequence[Wish]:
        places = range(len(self))[index]
        if isinstance(places, range):
            return [wish_of(self._records.read(place)) for place in places]
        return wish_of(self._records.read(places))

    def find(self, name: str) -> int:
        """The place of the goal with an id; raises `LookupError`."""
        found = self._ids.of(name)
        if not len(found):
            raise LookupError(f"there is no goal {name!r}")
        return int(found[0])

    @cached_property
    def splits(self) -> dict[str, NDArray[np.int32]]:
        """The places of each split's goals, ascending."""
        keys = self._splits.keys
        return {keys.text(place): self._splits.at(place) for place in range(len(keys))}


def write(
    folder: Path,
    about: About,
    products: Iterable[Product],
    prices: Prices,
    goal_sets: Mapping[str, Sequence[Wish]],
    progress: Callable[[int], None] | None = None,
    processes: int = 1,
) -> StoredCatalogue:
    """A catalogue of products in the order of their file, in place of one that was there before.

    All or nothing: it is written beside `folder` and renamed when it is on disk. Products may be of any
    number: they are taken one after another. `prices` are in dollars, by id or of a product. `progress` is
    told how many products are done. With several `processes`, texts are analyzed in as many more; as with any
    spawned process, the calling script then needs its `if __name__ == "__main__":`.

    Raises `CatalogueError` for what is no catalogue, and for a folder of other files.
    """
    if about.nouns != nouns.NAME:
        raise CatalogueError(f"nouns are found by {nouns.NAME}, not by {about.nouns!r}")
    if folder.exists() and any(folder.iterdir()) and not (folder / FILE).is_file():
        raise CatalogueError(f"{folder} has other files in it")
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    beside.chmod(0o755)
    try:
        prepare = partial(write_products, products=products, prices=prices, processes=processes)
        _write(beside, about, goal_sets, partial(prepare, progress=progress or _silent))
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
    synced(path)
    synced(folder)


def _put(made: Path, folder: Path) -> None:
    """Of two writers at the same time, the last one's catalogue stays."""
    if folder.exists() and any(folder.iterdir()):
        old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.old.", dir=folder.parent))
        folder.rename(old)
        made.rename(folder)
        shutil.rmtree(old)
    else:
        made.rename(folder)
    synced(folder.parent)


def _file_of(number: int) -> str:
    return f"goals-{number}"


def _silent(_: int) -> None:
    pass
