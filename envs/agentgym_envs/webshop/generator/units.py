"""Units of a catalogue in order: families with their splits, and single products between them.

The unit furthest below its share comes next, so that every prefix of a catalogue has the same shares, and a
smaller catalogue is a prefix of a larger one except for its last products.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from agentgym_envs.webshop.generator import listing
from agentgym_envs.webshop.generator.asins import asin
from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.families import Family, family
from agentgym_envs.webshop.generator.vocabulary import CATEGORIES, Category

SINGLE = 0.14
"""Share of products without a family."""
_BLOCK = 10
"""Number of families of which one is for testing and one for validation."""


@dataclass(frozen=True)
class Unit:
    """Family, or single product."""

    family: Family | None
    split: str
    rows: tuple[tuple[listing.Row, listing.Row], ...]
    """Rows with annotations; those of a family in the order of its members."""
    order: tuple[int, ...]
    """Order of the rows in the file."""


def units(products: int, seed: int) -> Iterator[Unit]:
    """Units up to this number of products."""
    made: Counter[str] = Counter()
    families: Counter[bool] = Counter()
    number = 0
    while made["all"] < products:
        category = max(CATEGORIES, key=lambda one: one.share * made["all"] - made[one.name])
        optional = category.optional * (made[category.name] + 1) > made[f"{category.name} optional"]
        draw = Draw("webshop", seed, "unit", number)
        size = _size(optional, draw)
        alone = SINGLE * (made["all"] + 1) > made["single"] or size > products - made["all"]
        if alone:
            size = 1
            rows = (listing.single(category, optional, asin(seed, made["all"]), draw),)
            yield Unit(None, "", rows, (0,))
        else:
            split = _split(families[optional], optional, seed)
            families[optional] += 1
            yield _family(f"{seed}-{number}", split, category, size, optional, made["all"], seed, draw)
        number += 1
        made.update({"all": size, "single": int(alone), category.name: size})
        made[f"{category.name} optional"] += size * optional


def _family(
    name: str, split: str, category: Category, size: int, optional: bool, begin: int, seed: int, draw: Draw
) -> Unit:
    made = family(name, category, size, optional, draw)
    places = draw.shuffled(range(size))
    rows = tuple(
        listing.of_member(made, member, asin(seed, begin + place), draw)
        for place, member in zip(places, made.members, strict=True)
    )
    order = tuple(sorted(range(size), key=places.__getitem__))
    return Unit(made, split, rows, order)


def _split(number: int, optional: bool, seed: int) -> str:
    """Split of the family with this number among those with options, or without. The first three are in
    different splits, so that small catalogues have all of them.
    """
    block, place = divmod(number, _BLOCK)
    drawn = Draw("webshop", seed, "split", optional, block).some(range(_BLOCK), 2) if block else [1, 2]
    return {drawn[0]: "test", drawn[1]: "valid"}.get(place, "train")


def _size(optional: bool, draw: Draw) -> int:
    """Family size: 8 to 30 members; fewer without options, since all but three break the price."""
    if not optional:
        return 8 + draw.below(3)
    return int(draw.quantile((8, 11, 15, 31), (0, 0.65, 0.92, 1)))
