"""Product families: near-duplicates of one product, each of which lacks one of its requirements.

The first member, the centre, meets all requirements. Each other member breaks one: it has another value of
one fact, does not offer the wanted value of one group, or costs too much. The common properties of a family
are here; `listing` writes its pages.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle, islice

from agentgym_envs.webshop.generator import prices
from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.options import GROUPS
from agentgym_envs.webshop.generator.vocabulary import BRANDS, Category, Fact, Kind

SHOWN = 0.05
"""Share of families with options that state one fact in a text of the search index."""
RANGED = {"fashion": 0.5}
_RARELY_RANGED = 0.015
_MISSING = 0.15
_THREE_GROUPS = 0.5


@dataclass(frozen=True)
class Member:
    """Product before its texts are written."""

    breaks: str
    """Broken requirement: `fact`, `option` or `price`, with its name; empty for the centre."""
    facts: tuple[Fact, ...]
    options: Mapping[str, tuple[str, ...]]
    """Kind of a group -> values as the seller writes them."""
    pricing: str


@dataclass(frozen=True)
class Family:
    """Members, the centre first."""

    name: str
    category: Category
    kind: Kind
    brand: str
    adjective: str
    use: str
    extras: tuple[str, ...]
    words: int
    """Number of words of a title."""
    shown: str
    """Place of the first fact in searchable texts: `title`, `first`, `description` or none."""
    axes: tuple[str, ...]
    """Axes that some member breaks."""
    wanted: Mapping[str, str]
    """Kind of a group -> the value that goals ask for."""
    bounds: tuple[int, ...]
    """Price bounds in dollars: all members except the expensive ones are below each of them."""
    members: tuple[Member, ...]


def family(name: str, category: Category, size: int, optional: bool, draw: Draw) -> Family:
    """A family with this many members; with options or without."""
    kind = draw.pick(category.kinds)
    groups = draw.shuffled(kind.groups)[: 3 if draw.chance(_THREE_GROUPS) else 2] if optional else []
    wanted = {group: GROUPS[group].wanted(draw) for group in sorted(groups)}
    axes = draw.shuffled(kind.axes)
    facts = {axis: draw.shuffled(category.facts[axis]) for axis in axes}
    level = prices.level(category.prices, draw)
    bounds = prices.bounds(level, draw)
    broken = _broken(axes, list(wanted), size)
    common = axes[: 3 + draw.below(2)] if optional else axes[: 2 + draw.below(2)]
    ranged = RANGED.get(category.name, _RARELY_RANGED)
    members: list[Member] = []
    for place, (what, of) in enumerate(broken):
        turn = broken[:place].count((what, of)) + 1
        own = (facts[axis][turn if (what, of) == ("fact", axis) else 0] for axis in common)
        options = {
            group: GROUPS[group].offered(value, (what, of) == ("option", group), draw)
            for group, value in wanted.items()
        }
        pricing = (
            prices.expensive(bounds[-1], ranged, _MISSING, draw)
            if what == "price"
            else prices.affordable(level, ranged, draw)
        )
        members.append(Member(f"{what} {of}".strip(), tuple(own), options, pricing))
    return Family(
        name=name,
        category=category,
        kind=kind,
        brand=draw.pick(BRANDS),
        adjective=draw.pick(category.adjectives),
        use=draw.pick(category.uses),
        extras=tuple(draw.shuffled(category.extras)),
        words=title_words(category, draw),
        shown=draw.pick(("title", "first", "description")) if optional and draw.chance(SHOWN) else "",
        axes=tuple(dict.fromkeys(of for what, of in broken if what == "fact")),
        wanted=wanted,
        bounds=bounds,
        members=tuple(members),
    )


def title_words(category: Category, draw: Draw) -> int:
    """Number of words of a title: 7 to 31, around the category's number."""
    middle = category.title
    return int(draw.quantile((7, middle - 3, middle + 1, middle + 4, 30), (0, 0.2, 0.55, 0.9, 1)))


def _broken(axes: list[str], groups: list[str], size: int) -> list[tuple[str, str]]:
    """Broken requirement of each member. Few are facts, so that the pages of all candidates can be read; the
    rest are prices and options, which are visible.
    """
    if groups:
        first, second, third = axes[:3]
        facts = [first, second, first, third, second][: 2 + (size >= 10) + (size >= 13) + (size >= 18)]
    else:
        facts = [axes[0]] * (3 if size > 9 else 2)
    rest = size - 1 - len(facts)
    expensive = max(2, rest * 2 // 5) if groups else rest
    missing = islice(cycle([groups[0], *groups]), rest - expensive) if groups else ()
    return [
        ("", ""),
        *(("fact", axis) for axis in facts),
        *(("option", group) for group in missing),
        *(("price", "") for _ in range(expensive)),
    ]
