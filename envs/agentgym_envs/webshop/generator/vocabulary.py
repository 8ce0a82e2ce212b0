"""Vocabulary model: categories with their product types and the facts that may hold of a product.

A table of facts has blocks of an axis in brackets, and of each of its values

    attribute
    - sentences for the list of features
    ~ paraphrases for instructions
    ! paraphrases for instructions of the test split alone

of which no two can hold of the same product, nor pass for one another in the reward.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType

from agentgym_envs.webshop.generator.words import beauty, common, electronics, fashion, garden, grocery


@dataclass(frozen=True)
class Fact:
    """Value of an axis."""

    axis: str
    attribute: str
    """Attribute in annotations, for rewards."""
    features: tuple[str, ...]
    paraphrases: tuple[str, ...]
    held_out: tuple[str, ...]
    """Paraphrases of the test split."""


@dataclass(frozen=True)
class Kind:
    """Product type."""

    label: str
    article: str
    path: str
    axes: tuple[str, ...]
    groups: tuple[str, ...]
    """Kinds of option groups, see `options`."""


@dataclass(frozen=True)
class Category:
    """Category with its statistics, which are those of the benchmark's small set."""

    name: str
    share: float
    """Share of all products."""
    optional: float
    """Share of its products that have options."""
    title: int
    """Median number of words of a title."""
    prices: tuple[float, ...]
    """Prices in dollars, at the quantiles 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1."""
    kinds: tuple[Kind, ...]
    facts: Mapping[str, tuple[Fact, ...]]
    uses: tuple[str, ...]
    adjectives: tuple[str, ...]
    extras: tuple[str, ...]
    """Additional phrases for titles."""
    sentences: tuple[str, ...]
    """Sentences for descriptions."""
    bullets: tuple[str, ...]
    """Bullets that state none of the facts."""


def listed(text: str, mark: str = ",") -> tuple[str, ...]:
    """Items between the marks.

    >>> listed(" a b,\\n c ")
    ('a b', 'c')
    """
    return tuple(" ".join(piece.split()) for piece in text.split(mark) if piece.strip())


def lines(text: str) -> list[str]:
    """Lines that are not empty."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def facts(table: str) -> dict[str, tuple[Fact, ...]]:
    """Axis -> its values."""
    found: dict[str, tuple[Fact, ...]] = {}
    rows, axis = lines(table), ""
    while rows:
        row = rows.pop(0)
        if row.startswith("["):
            axis = row.strip("[]")
            found[axis] = ()
        else:
            told = (listed(rows.pop(0)[2:], " ; ") for _ in range(3))
            found[axis] += (Fact(axis, row, *told),)
    return found


def _category(module: ModuleType) -> Category:
    return Category(
        name=module.__name__.rpartition(".")[2],
        share=module.SHARE / 100,
        optional=module.OPTIONS,
        title=module.TITLE,
        prices=module.PRICES,
        kinds=tuple(_kind(line) for line in lines(module.TYPES.replace("\n  |", " |"))),
        facts=facts(module.FACTS),
        uses=listed(module.USES),
        adjectives=listed(module.ADJECTIVES),
        extras=listed(module.EXTRAS),
        sentences=tuple(lines(module.SENTENCES)),
        bullets=listed(module.BULLETS, ";"),
    )


def _kind(line: str) -> Kind:
    label, article, path, axes, groups = (cell.strip() for cell in line.split(" | "))
    return Kind(label, article, path, tuple(axes.split()), tuple(groups.split()))


CATEGORIES = tuple(_category(module) for module in (beauty, electronics, garden, fashion, grocery))
BRANDS = listed(common.BRANDS)
EMPTY_GROUPS = listed(common.EMPTY)
