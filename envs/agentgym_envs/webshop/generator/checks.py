"""Checks of generated goals: solvable, by their target only, and not without reading.

They use the reward itself, with options as values and as pairs, and both of its matchings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop.generator.instructions import plain
from agentgym_envs.webshop.generator.rules import cached_nouns
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Earned, Goal, Matching, earned
from agentgym_envs.webshop.shop import BACK, BUY, PARTS, PREVIOUS
from agentgym_envs.webshop.wishes import Wish

NEARLY = 0.9
"""Upper bound of the reward of any other member of a family."""
_BUTTONS = (BACK, PREVIOUS, *PARTS, BUY)
MATCHINGS: tuple[Matching, ...] = ("upstream", "fixed")


class Reading(NamedTuple):
    """Interpretation of a goal by the reward."""

    goal: Goal
    matching: Matching


def readings(goal: Goal, target: Product) -> list[Reading]:
    """Interpretations with options as values, and as pairs in both matchings."""
    pairs = replace(goal, options={_group(target, value): value for value in goal.options})
    return [Reading(goal, "fixed"), *(Reading(pairs, matching) for matching in MATCHINGS)]


def problem(
    wish: Wish, family: Sequence[Product], prices: Mapping[str, float], index: Index | None, strict: bool
) -> str:
    """Reason to reject a goal, or ''. `strict`: each other member must lack exactly one requirement."""
    goal = wish.goal
    target = next(product for product in family if product.asin == goal.asin)
    if any(_offers(target, value) != 1 for value in goal.options):
        return "option not clickable"
    ways = readings(goal, target)
    if any(_bought(way, target, tuple(goal.options), prices).total != 1.0 for way in ways):
        return "oracle"
    if max(target.prices) > goal.price_upper:
        return "price tag"
    others = [product for product in family if product is not target]
    if reason := next((found for one in others if (found := _too_near(ways, one, prices, strict))), ""):
        return reason
    return "" if index is None or findable(goal, index) else "not found"


def findable(goal: Goal, index: Index) -> bool:
    """True if the target is among the hits for the instruction, or for a part of it."""
    text = plain(goal.instruction)
    pieces = text.split(", ")
    return any(goal.asin in dict(index.search(query)) for query in dict.fromkeys((text, *pieces)))


def hidden(goal: Goal, target: Product) -> bool:
    """True if an attribute is stated in no text that is searched or shown before the features."""
    seen = f"{target.title} {target.description} {' '.join(target.bullets[:1])}".lower()
    return any(attribute not in seen for attribute in goal.attributes)


def _too_near(ways: Sequence[Reading], other: Product, prices: Mapping[str, float], strict: bool) -> str:
    """Reason why another product nearly meets the goal, or ''. All values are chosen at once, more than is
    possible.
    """
    chosen = [value for group in other.options.values() for value in group]
    found = [_bought(way, other, chosen, prices) for way in ways]
    if any(one.r_type != 1.0 for one in found):
        return "type"
    if any(one.total > NEARLY for one in found):
        return "not alone"
    if not found[0].price and min(other.prices) <= ways[0].goal.price_upper:
        return "price tag"
    if strict and any(_missed(way.goal, one) != 1 for way, one in zip(ways, found, strict=True)):
        return "more than one missed"
    return ""


def _missed(goal: Goal, found: Earned) -> int:
    return len(goal.attributes) - found.attributes + len(goal.options) - found.options + (not found.price)


def _bought(way: Reading, product: Product, chosen: Sequence[str], prices: Mapping[str, float]) -> Earned:
    return earned(way.goal, product, chosen, prices[product.asin], cached_nouns, way.matching)


def _group(target: Product, value: str) -> str:
    return next(name for name, values in target.options.items() if value in values)


def _offers(target: Product, value: str) -> int:
    """Number of elements of the target's page with this text."""
    values = [one for group in target.options.values() for one in group]
    return [*_BUTTONS, *values].count(value)
