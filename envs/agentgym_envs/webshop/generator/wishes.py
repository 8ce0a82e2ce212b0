"""Goals of a family: for its centre, and for members with a distinguishing fact."""

from collections.abc import Iterator, Sequence
from itertools import cycle, islice

from agentgym_envs.webshop.generator.draw import Draw, digest
from agentgym_envs.webshop.generator.families import Family, Member
from agentgym_envs.webshop.generator.instructions import Asked, clause, written
from agentgym_envs.webshop.generator.names import identity
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.wishes import Wish

PLAIN = {"small": 5}
"""Number of goals per difficulty of a family without options."""
WITH_OPTIONS = {"small": 7, "medium": 7, "large": 7}

ATTRIBUTES = {"small": (1, 1), "medium": (1, 2), "large": (2, 3)}
OPTIONS = {"small": (0, 1), "medium": (1, 2), "large": (2, 3)}
"""Minimum and maximum number of options of a goal."""
_MORE = 0.3
"""Share of goals with the maximum number of options, if fewer are possible."""


def wishes(family: Family, split: str, products: Sequence[Product], seed: int) -> Iterator[Wish]:
    """Goals for members, whose `products` are in the same order; ids are unique."""
    draw = Draw("webshop", seed, "wishes", family.name)
    made: set[str] = set()
    for difficulty, count in (WITH_OPTIONS if family.wanted else PLAIN).items():
        targets = draw.shuffled(_targets(family, difficulty))
        for place in islice(cycle(targets), count):
            asked = _asked(family, family.members[place], difficulty, draw)
            wish = _wish(family, asked, split, products[place], seed, draw)
            if wish.id not in made:
                made.add(wish.id)
                yield wish


def _targets(family: Family, difficulty: str) -> list[int]:
    """Members that the number of options of such a goal can tell from all others."""
    most, highest = ATTRIBUTES[difficulty][1], OPTIONS[difficulty][1]
    own = [place for place, member in enumerate(family.members) if member.breaks.startswith("fact")]
    return [0] * (len(family.axes) <= most and len(_missed(family)) <= highest) + own


def _asked(family: Family, member: Member, difficulty: str, draw: Draw) -> Asked:
    """Requirements that tell a member from the others, and more up to the number of the difficulty."""
    centre = not member.breaks
    axes = list(family.axes) if centre else [member.breaks.removeprefix("fact ")]
    groups = _missed(family)[: None if centre else 1]
    facts = {fact.axis: fact for fact in member.facts}
    attributes = _count(ATTRIBUTES[difficulty], _MORE, draw)
    options = _count(OPTIONS[difficulty], _MORE, draw)
    axes += draw.some([axis for axis in facts if axis not in axes], attributes - len(axes))
    groups += draw.some([group for group in family.wanted if group not in groups], options - len(groups))
    asked = {group: family.wanted[group] for group in groups}
    return Asked(difficulty, tuple(facts[axis] for axis in axes), asked)


def _count(ends: tuple[int, int], more: float, draw: Draw) -> int:
    return ends[1] if draw.chance(more) else ends[0]


def _missed(family: Family) -> list[str]:
    """Groups whose wanted value some member lacks, the most often lacking one first."""
    found = [one.breaks.removeprefix("option ") for one in family.members if one.breaks.startswith("option")]
    return list(dict.fromkeys(found))


def _wish(family: Family, asked: Asked, split: str, product: Product, seed: int, draw: Draw) -> Wish:
    text, template = written(family, asked, split, draw)
    attributes = tuple(fact.attribute for fact in asked.facts)
    options = tuple(asked.options.values())
    name = identity(product.asin, attributes, options, template)
    upper = family.bounds[digest(seed, name, "bound") % len(family.bounds)]
    goal = Goal(
        asin=product.asin,
        name=product.title,
        query=product.query,
        product_category=product.product_category,
        instruction=text + clause(upper),
        attributes=attributes,
        options=options,
        price_upper=float(upper),
    )
    return Wish(goal, name, split, asked.difficulty, family.name)
