"""Writer of a catalogue's files: products as a stream, in bounded memory, and the sorted arrays at the
end.
"""

from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.building import Analysis, Builder
from agentgym_envs.search.flat import Files
from agentgym_envs.search.keys import bounds, encoded, grouped
from agentgym_envs.webshop.catalogues.manifest import CatalogueError
from agentgym_envs.webshop.catalogues.records import product_record, wish_record
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.taggers import nouns_by
from agentgym_envs.webshop.wishes import Wish

ThingT = TypeVar("ThingT")
LABELS = ("query", "category")
Prices = Mapping[str, float] | Callable[[Product], float]
_BATCH = 1000
"""Number of products that are analysed in one batch."""


@dataclass(frozen=True, eq=False)
class _Batch:
    """Batch of products with their analysis."""

    products: list[Product]
    records: list[bytes]
    analysis: Analysis


def write_products(
    files: Files,
    scratch: Path,
    products: Iterable[Product],
    prices: Prices,
    tagger: str,
    progress: Callable[[int], None],
    processes: int,
) -> NDArray[Any]:
    """Write all files except goals; returns the ids, ascending. `tagger` finds the nouns of titles. Raises
    `CatalogueError` without products, and for equal ids.
    """
    price_of = partial(_price, prices) if isinstance(prices, Mapping) else prices
    builder, asins, sizes = Builder(scratch), list[bytes](), array("q")
    labels = {kind: _Labels() for kind in LABELS}
    for batch in _prepared(products, tagger, processes):
        files.add("products.blob", np.frombuffer(b"".join(batch.records), np.uint8))
        files.add("prices", np.array([price_of(product) for product in batch.products], np.float64))
        sizes.extend(map(len, batch.records))
        asins += [encoded(product.asin) for product in batch.products]
        for kind, label in labels.items():
            label.extend([getattr(product, kind) for product in batch.products])
        builder.add(batch.analysis)
        progress(len(asins))
    if not asins:
        raise CatalogueError("a catalogue needs products, and there are none")
    files.add("products.begins", bounds(np.frombuffer(sizes, np.int64)))
    for kind, label in labels.items():
        write_groups(files, kind, label.names(), label.codes)
    found, order = _ordered(asins)
    ranks = np.empty(len(order), np.int32)
    ranks[order] = np.arange(len(order), dtype=np.int32)
    files.add("asins", found)
    files.add("places", order)
    files.add("ranks", ranks)
    builder.finish(files, order)
    return found


def write_wishes(files: Files, name: str, wishes: Sequence[Wish], asins: NDArray[Any]) -> None:
    """Write the goals of one set; raises `CatalogueError` for equal ids and for unknown products."""
    sizes, ids, splits = array("q"), list[bytes](), _Labels()
    for batch in _batches(wishes):
        records = [wish_record(wish) for wish in batch]
        files.add(f"{name}.blob", np.frombuffer(b"".join(records), np.uint8))
        sizes.extend(map(len, records))
        ids += [encoded(wish.id) for wish in batch]
        splits.extend([wish.split for wish in batch])
        for wish in batch:
            if rank_of(asins, wish.goal.asin) is None:
                raise CatalogueError(f"goal {wish.id} is of {wish.goal.asin}, which is not in the catalogue")
    if not ids:
        files.add(f"{name}.blob", np.zeros(0, np.uint8))
    if len(set(ids)) < len(ids):
        raise CatalogueError("two goals of a set have the same id")
    files.add(f"{name}.begins", bounds(np.frombuffer(sizes, np.int64)))
    write_groups(files, f"{name}.ids", ids, np.arange(len(ids)))
    write_groups(files, f"{name}.splits", splits.names(), splits.codes)


def write_groups(
    files: Files, name: str, names: Sequence[bytes], codes: Sequence[int] | NDArray[np.int64]
) -> None:
    """Write the places of equal `codes`, which are indices into `names`, as `Groups`."""
    keys, begins, members = grouped(names, np.asarray(codes, np.int64))
    files.add(f"{name}.keys.blob", np.frombuffer(b"".join(keys), np.uint8))
    files.add(f"{name}.keys.begins", bounds(map(len, keys)))
    files.add(f"{name}.begins", begins)
    files.add(f"{name}.members", members)


def rank_of(asins: NDArray[Any], asin: str) -> int | None:
    """Index of an id among ascending ones."""
    wanted = encoded(asin)
    if len(wanted) > asins.itemsize or wanted.endswith(b"\0"):
        return None
    place = int(np.searchsorted(asins, np.array(wanted, asins.dtype)))
    return place if place < len(asins) and asins[place] == wanted else None


class _Labels:
    """Column of labels with few distinct values."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}
        self.codes = array("q")

    def extend(self, texts: Iterable[str]) -> None:
        self.codes.extend([self._known.setdefault(text, len(self._known)) for text in texts])

    def names(self) -> list[bytes]:
        return [encoded(text) for text in self._known]


def _ordered(asins: list[bytes]) -> tuple[NDArray[Any], NDArray[np.int32]]:
    """Ids in ascending order, with the place of each in the file."""
    if any(asin.endswith(b"\0") for asin in asins):
        raise CatalogueError("an id of a product ends in a zero byte")
    table = np.array(asins)
    order = np.argsort(table, kind="stable").astype(np.int32)
    found = table[order]
    twice = np.flatnonzero(found[1:] == found[:-1])
    if len(twice):
        raise CatalogueError(f"two products have the id {bytes(found[twice[0]]).decode(errors='replace')}")
    return found, order


def _price(prices: Mapping[str, float], product: Product) -> float:
    try:
        return prices[product.asin]
    except KeyError as cause:
        raise CatalogueError(f"product {product.asin} has no price to be bought at") from cause


def _prepared(products: Iterable[Product], tagger: str, processes: int) -> Iterator[_Batch]:
    """Analysed batches in the order of the products; few are in progress at any time."""
    batches, prepare = _batches(products), partial(_batch, tagger)
    if processes <= 1:
        yield from map(prepare, batches)
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = deque(pool.submit(prepare, batch) for batch in islice(batches, 2 * processes))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(prepare, batch) for batch in islice(batches, 1))


def _batch(tagger: str, products: list[Product]) -> _Batch:
    records = [product_record(product, nouns_by(tagger, product.title)) for product in products]
    return _Batch(products, records, Analysis.of([product.index_text for product in products]))


def _batches(things: Iterable[ThingT]) -> Iterator[list[ThingT]]:
    rest = iter(things)
    while batch := list(islice(rest, _BATCH)):
        yield batch
