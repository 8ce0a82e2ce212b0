"""Catalogue interface: products and their search."""

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from agentgym_envs.webshop.products import Product

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
