"""Product records, parsed from the benchmark's own files (`items_shuffle.json`) with its cleaning rules.

Spec: 2207.01206 and princeton-nlp/WebShop, whose rules define observations and search results.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

UNKNOWN_PRICE = 100.0
LONGEST_ASIN = 10
NO_ATTRIBUTES = ("DUMMY_ATTR",)
"""Attributes of a product without annotation."""


@dataclass(frozen=True)
class Product:
    """Product of a catalogue."""

    asin: str
    title: str
    description: str
    bullets: tuple[str, ...]
    prices: tuple[float, ...]
    """Prices in dollars: one, or the two ends of a range."""
    price_tag: str
    options: Mapping[str, tuple[str, ...]]
    """Group -> its values, in lower case and in the file's order; equal values stay."""
    query: str
    """Product type whose search found it."""
    category: str
    product_category: str
    attributes: tuple[str, ...] = NO_ATTRIBUTES
    """Annotated attributes, for rewards: they are neither shown nor searched."""

    @property
    def index_text(self) -> str:
        """Text in the search index: only the first bullet, without price and type."""
        options = ", and ".join(f"{name}: {', '.join(values)}" for name, values in self.options.items())
        first = self.bullets[0] if self.bullets else ""
        return f"{self.title} {self.description} {first} {options}".lower()


def cleaned(
    rows: Sequence[Mapping[str, Any]], annotations: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Product]:
    """Valid rows of a file: those with an id of their own, the first of equal ids. `annotations` are those of
    `items_ins_v2.json`, by id.
    """
    found: dict[str, Product] = {}
    for row in rows:
        asin = row["asin"]
        if asin != "nan" and len(asin) <= LONGEST_ASIN and asin not in found:
            annotated = (annotations or {}).get(asin)
            found[asin] = product(row, tuple(annotated["attributes"]) if annotated else NO_ATTRIBUTES)
    return list(found.values())


def product(row: Mapping[str, Any], attributes: tuple[str, ...] = NO_ATTRIBUTES) -> Product:
    """The product of a row of the file.

    >>> row = {"asin": "B0", "name": "Shorts", "full_description": "", "small_description": "Imported"}
    >>> row |= {"pricing": "$9.98 - $16.98", "customization_options": {"Color": [{"value": " Navy/White "}]}}
    >>> row |= {"query": "Men's Shorts ", "category": "fashion", "product_category": "Men › Shorts"}
    >>> made = product(row)
    >>> made.price_tag, dict(made.options), made.query
    ('$9.98 to $16.98', {'color': ('navy | white',)}, "men's shorts")
    """
    bullets = row["small_description"]
    prices = _prices(row["pricing"])
    tag = " to ".join(f"${price}" for price in prices) if row["pricing"] else f"${UNKNOWN_PRICE}"
    return Product(
        asin=row["asin"],
        title=row["name"],
        description=row["full_description"],
        bullets=(bullets,) if isinstance(bullets, str) else tuple(bullets),
        prices=prices,
        price_tag=tag,
        options=_options(row.get("customization_options") or {}),
        query=row["query"].lower().strip(),
        category=row["category"],
        product_category=row["product_category"],
        attributes=attributes,
    )


def _prices(pricing: str | None) -> tuple[float, ...]:
    if not pricing:
        return (UNKNOWN_PRICE,)
    return tuple(float(re.sub(r"[^0-9.]", "", piece)) for piece in pricing.split("$")[1:])[:2]


def _options(groups: Mapping[str, Sequence[Mapping[str, Any]] | None]) -> dict[str, tuple[str, ...]]:
    return {
        name.lower(): tuple(value["value"].strip().replace("/", " | ").lower() for value in values)
        for name, values in groups.items()
        if values is not None
    }
