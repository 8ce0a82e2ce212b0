"""First pass over all products of a source, which keeps only the data for goals: `surveyed`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

from agentgym_envs.import_report import Refused
from agentgym_envs.webshop.catalogues.stored import CatalogueError
from agentgym_envs.webshop.official import rows
from agentgym_envs.webshop.official.rows import Annotations, Instructions
from agentgym_envs.webshop.official.sources import Files
from agentgym_envs.webshop.products import Product

MOST_SYNTHETIC = 200_000
"""Maximum number of synthetic goals; those of all products are millions."""


@dataclass
class Survey:
    """Statistics of a source."""

    annotations: Annotations
    instructions: Instructions
    refused: list[Refused]
    """Invalid rows."""
    products: int = 0
    """Number of products."""
    ranges: dict[str, tuple[float, ...]] = field(default_factory=dict[str, "tuple[float, ...]"])
    """Prices of products with two prices, in order."""
    asked: list[Product] = field(default_factory=list["Product"])
    """Products with a human-written instruction, in order."""
    described: list[Product] = field(default_factory=list["Product"])
    """Products with a synthetic instruction, in order; none if their goals are too many."""
    synthetic: int = 0
    """Number of synthetic goals."""
    annotated: int = 0
    most: int = field(default_factory=lambda: MOST_SYNTHETIC)
    """Number of synthetic goals above which there are none."""

    @property
    def unknown_annotated(self) -> int:
        """Annotated products that are missing."""
        return len(self.annotations) - self.annotated

    @property
    def unknown_asked(self) -> int:
        """Products with a human-written instruction that are missing."""
        return len(self.instructions) - len(self.asked)

    def add(self, product: Product) -> None:
        """Add the next product."""
        self.products += 1
        if len(product.prices) > 1:
            self.ranges[product.asin] = product.prices
        if product.asin in self.instructions:
            self.asked.append(product)
        annotated: Mapping[str, Any] | None = self.annotations.get(product.asin)
        self.annotated += annotated is not None
        if annotated is not None and "instruction" in annotated:
            self.synthetic += prod(map(len, product.options.values()))
            self.described.append(product)
        if self.synthetic >= self.most:
            self.described.clear()


def surveyed(files: Files, progress: Callable[[int], None] | None = None) -> Survey:
    """Survey of the valid rows of the files; raises `CatalogueError` without any product."""
    refused: list[Refused] = []
    annotations = rows.annotations(files.annotations, refused.append)
    instructions: Instructions = rows.instructions(files.human, refused.append) if files.human else {}
    survey, before = Survey(annotations, instructions, refused), len(refused)
    for product in rows.products(files.products, annotations, refused.append):
        survey.add(product)
        if progress is not None:
            progress(survey.products)
    if not survey.products:
        bad = refused[before:]
        first = f"; the first of {len(bad):,}: {bad[0].name}: {bad[0].reason}" if bad else ""
        raise CatalogueError(f"{files.products} has no product that can be imported{first}")
    return survey
