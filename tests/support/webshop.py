"""Catalogue of a few products in memory."""

from collections.abc import Iterable, Mapping, Sequence

from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop.catalogues.catalogue import Label
from agentgym_envs.webshop.products import Product


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
