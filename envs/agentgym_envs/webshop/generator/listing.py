"""Rows of a catalogue's file: products of families with the texts of sellers.

No title, description or text length reveals the member: all differences between members in them are drawn
from the same distribution.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agentgym_envs.webshop.generator import prices
from agentgym_envs.webshop.generator.draw import Draw
from agentgym_envs.webshop.generator.families import RANGED, Family, Member, title_words
from agentgym_envs.webshop.generator.options import GROUPS
from agentgym_envs.webshop.generator.vocabulary import BRANDS, EMPTY_GROUPS, Category, Kind

Row = dict[str, Any]
_NO_DESCRIPTION = 0.3
_EMPTY_GROUP = 0.1
_ONE_TEXT = 0.1
"""Share of single products with one text instead of a list of bullets."""
_SINGLE_MISSING = 0.25


def of_member(family: Family, member: Member, asin: str, draw: Draw) -> tuple[Row, Row]:
    """A row with its annotation. All facts are in the second bullet or later."""
    title = _title(family, draw)
    description = _description(family.category, family.kind, family.brand, family.use, draw)
    bullets = _generic(family.category, family.kind, family.brand, family.use, 3, draw)
    first, others = bullets[0], bullets[1 : 1 + (0, 0, 1, 1, 2)[draw.below(5)]]
    stated = [draw.pick(fact.features) for fact in member.facts]
    if family.shown == "title":
        title += f", {_capitals(member.facts[0].attribute)}"
    elif family.shown == "first":
        first, stated = stated[0], [first, *stated[1:]]
    elif family.shown == "description":
        description = f"{description} Good to know: {stated[0]}.".strip()
    options = {GROUPS[kind].name: values for kind, values in member.options.items()}
    return (
        _row(
            asin, title, description, [first, *draw.shuffled([*others, *stated])], member.pricing,
            family.category, family.kind, options, draw,
        ),
        {"attributes": [fact.attribute for fact in draw.shuffled(member.facts)]},
    )  # fmt: skip


def single(category: Category, optional: bool, asin: str, draw: Draw) -> tuple[Row, Row]:
    """A product without a family and without goals."""
    kind, brand, use = draw.pick(category.kinds), draw.pick(BRANDS), draw.pick(category.uses)
    known = [draw.pick(category.facts[axis]) for axis in draw.some(kind.axes, draw.below(5))]
    extras = draw.shuffled(category.extras)
    title = _worded(brand, draw.pick(category.adjectives), kind, use, extras, title_words(category, draw))
    level = prices.level(category.prices, draw)
    pricing = prices.affordable(level, RANGED.get(category.name, 0.0), draw)
    groups = [GROUPS[one] for one in draw.some(kind.groups, 1 + draw.below(2))] if optional else []
    options = {one.name: one.offered(one.wanted(draw), False, draw) for one in groups}
    bullets = [
        *_generic(category, kind, brand, use, 1 + draw.below(4), draw),
        *(draw.pick(fact.features) for fact in known),
    ]
    row = _row(
        asin, title, _description(category, kind, brand, use, draw), bullets,
        "" if draw.chance(_SINGLE_MISSING) else pricing, category, kind, options, draw,
    )  # fmt: skip
    if draw.chance(_ONE_TEXT):
        row["small_description"] = ". ".join(row["small_description"])
    return row, {"attributes": [fact.attribute for fact in known]}


def _row(
    asin: str,
    title: str,
    description: str,
    bullets: Sequence[str],
    pricing: str,
    category: Category,
    kind: Kind,
    options: Mapping[str, Sequence[str]],
    draw: Draw,
) -> Row:
    groups: dict[str, Any] = {
        _capitals(name): [{"value": value.title(), "image": None} for value in values]
        for name, values in options.items()
    }
    if draw.chance(_EMPTY_GROUP):
        free = [name for name in EMPTY_GROUPS if name not in options]
        groups[_capitals(draw.pick(free))] = None
    return {
        "asin": asin,
        "name": title,
        "full_description": description,
        "small_description": [_sentence(bullet) for bullet in bullets],
        "pricing": pricing,
        "images": [f"https://example.invalid/{asin.lower()}.jpg"],
        "product_category": kind.path,
        "category": category.name,
        "query": kind.label,
        "customization_options": groups or "",
    }


def _title(family: Family, draw: Draw) -> str:
    """The family's title, with two of its phrases moved and one that varies between members."""
    count = len(family.extras)
    extras = list(family.extras)
    one, other = draw.below(3), draw.below(3)
    extras[one], extras[other] = extras[other], extras[one]
    extras[draw.below(3)] = extras[count - 1 - draw.below(3)]
    words = family.words + draw.below(3) - 1
    return _worded(family.brand, family.adjective, family.kind, family.use, extras, words)


def _worded(brand: str, adjective: str, kind: Kind, use: str, extras: Sequence[str], words: int) -> str:
    found = f"{brand} {adjective} {kind.label} for {use}"
    for extra in dict.fromkeys(extras):
        so_far = len(found.split())
        if so_far >= 7 and so_far + len(extra.split()) // 2 >= words:
            break
        found += f", {extra}"
    return _capitals(found)


def _description(category: Category, kind: Kind, brand: str, use: str, draw: Draw) -> str:
    if draw.chance(_NO_DESCRIPTION):
        return ""
    found = draw.some(category.sentences, 2 + draw.below(4))
    return " ".join(_filled(sentence, kind, brand, use) for sentence in found)


def _generic(category: Category, kind: Kind, brand: str, use: str, count: int, draw: Draw) -> list[str]:
    return [_filled(bullet, kind, brand, use) for bullet in draw.some(category.bullets, count)]


def _filled(text: str, kind: Kind, brand: str, use: str) -> str:
    return text.replace("{noun}", kind.label).replace("{brand}", brand).replace("{use}", use)


def _capitals(text: str) -> str:
    """A capital for each word, apostrophes left alone.

    >>> _capitals("men's shorts")
    "Men's Shorts"
    """
    return " ".join(word[:1].upper() + word[1:] for word in text.split())


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
