"""Catalogue interface: products and their search; with an in-memory one for small catalogues and tests."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, Protocol

from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.search.bm25 import Index

Label = Literal["query", "category"]


class Catalogue(Protocol):
    """Immutable set of products."""

    @property
    def products(self) -> Mapping[str, Product]:
        """Products by id, in the order of their file."""
        ...

    def search(self, text: str) -> Sequence[str]:
        """Ids of the best hits, best first; at most 50."""
        ...

    def labelled(self, kind: Label, label: str) -> Sequence[str]:
        """Ids of all products of a type or category, in the order of their file."""
        ...


class MemoryCatalogue:
    """Catalogue of products as objects."""

    def __init__(self, products: Iterable[Product]) -> None:
        self.products: Mapping[str, Product] = {product.asin: product for product in products}
        self._index = Index.of({asin: product.index_text for asin, product in self.products.items()})

    def search(self, text: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return [asin for asin, _ in self._index.search(text)]

    def labelled(self, kind: Label, label: str) -> Sequence[str]:
        """As in `Catalogue`."""
        return [asin for asin, product in self.products.items() if getattr(product, kind) == label]
