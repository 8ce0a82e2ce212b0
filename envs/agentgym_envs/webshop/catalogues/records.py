"""JSON records in one blob, each decoded on access, with the records of products and goals."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from agentgym_envs.search.keys import encoded
from agentgym_envs.webshop.catalogues.manifest import CatalogueError
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.wishes import Wish


@dataclass(frozen=True, eq=False)
class Records:
    """R records."""

    name: str
    """Name of the file, for error messages."""
    blob: NDArray[np.uint8]
    begins: NDArray[np.int64]
    """(R + 1,) record r is [begins[r], begins[r + 1]) of the blob."""

    def __len__(self) -> int:
        return len(self.begins) - 1

    def read(self, place: int) -> Any:
        """The record at a place; raises `CatalogueError`."""
        try:
            return json.loads(self.blob[self.begins[place] : self.begins[place + 1]].tobytes())
        except ValueError as cause:
            raise CatalogueError(f"{self.name} is damaged at record {place}") from cause


def record(value: Any) -> bytes:
    """A record as bytes."""
    return encoded(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def product_record(product: Product, nouns: Sequence[str]) -> bytes:
    """Fields of a product in their order, then the nouns of its title."""
    return record(
        [
            *(product.asin, product.title, product.description, product.bullets, product.prices),
            *(product.price_tag, product.options, product.query, product.category),
            *(product.product_category, product.attributes, list(nouns)),
        ]
    )


def product_of(row: Sequence[Any]) -> Product:
    """The product of `product_record`, without the nouns."""
    asin, title, description, bullets, prices, tag, options, query, category, path, attributes, _ = row
    return Product(
        asin=asin,
        title=title,
        description=description,
        bullets=tuple(bullets),
        prices=tuple(prices),
        price_tag=tag,
        options={group: tuple(values) for group, values in options.items()},
        query=query,
        category=category,
        product_category=path,
        attributes=tuple(attributes),
    )


def wish_record(wish: Wish) -> bytes:
    """Fields of a wish and of its goal, each in their order."""
    goal = wish.goal
    return record(
        [
            *(wish.id, wish.split, wish.difficulty, wish.family),
            *(goal.asin, goal.name, goal.query, goal.product_category, goal.instruction),
            *(goal.attributes, goal.options, goal.price_upper, goal.weight),
        ]
    )


def wish_of(row: Sequence[Any]) -> Wish:
    """The wish of `wish_record`."""
    name_of_wish, split, difficulty, family, *rest = row
    asin, name, query, path, instruction, attributes, options, price_upper, weight = rest
    goal = Goal(
        asin=asin,
        name=name,
        query=query,
        product_category=path,
        instruction=instruction,
        attributes=tuple(attributes),
        options=cast(Mapping[str, str], options) if isinstance(options, dict) else tuple(options),
        price_upper=price_upper,
        weight=weight,
    )
    return Wish(goal, name_of_wish, split, difficulty, family)
