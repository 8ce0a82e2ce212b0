"""Benchmark goals from annotations: one per choice of options (synthetic), or one per written instruction
(human).

Their texts depend on the products whose prices and bounds are drawn, and on the generator: both are given.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product as combinations
from random import Random
from typing import Any

from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal

ORDER_SEED = 233
"""Seed with which the benchmark shuffles its goals, and AgentGym draws the bounds of synthetic ones."""
NO_BOUND = 1000000.0
_BOUNDS = range(10, 1000, 10)
_NEAR = 4
"""Number of bounds above a price among which one is drawn."""


def synthetic(
    products: Sequence[Product],
    annotations: Mapping[str, Mapping[str, Any]],
    prices: Mapping[str, float],
    draw: Random,
) -> list[Goal]:
    """Goals in the order of the catalogue. `annotations` are those of `items_ins_v2.json`, and `prices` the
    purchase prices: the bound is drawn once per product.
    """
    found: list[Goal] = []
    for product in products:
        annotated = annotations.get(product.asin, {})
        if not annotated.get("instruction") or not annotated.get("instruction_attributes"):
            continue
        bound = _bound(prices[product.asin], draw)
        groups = sorted(product.options)
        for values in combinations(*(product.options[group] for group in groups)):
            options = dict(zip(groups, values, strict=True))
            named = ", and ".join(f"{group}: {value}" for group, value in options.items())
            text = annotated["instruction"] + (f" with {named}" if named else "") + _clause(bound)
            attributes = tuple(annotated["instruction_attributes"])
            found.append(_goal(product, text, attributes, options, bound))
    return weighted(found)


def human(
    products: Sequence[Product],
    annotations: Mapping[str, Sequence[Mapping[str, Any]]],
    prices: Mapping[str, float],
    draw: Random,
) -> list[Goal]:
    """Goals in the order of the catalogue; `annotations` are those of `items_human_ins.json`."""
    found: list[Goal] = []
    for product in products:
        for annotated in annotations.get(product.asin, ()):
            attributes = tuple(annotated["instruction_attributes"])
            if attributes:
                bound = _bound(prices[product.asin], draw)
                text = annotated["instruction"].strip(".") + _clause(bound)
                options = tuple(annotated["instruction_options"])
                found.append(_goal(product, text, attributes, options, bound))
    return found


def shuffled(goals: Sequence[Goal], seed: int = ORDER_SEED) -> list[Goal]:
    """Goals in the benchmark's order, which is their numbering."""
    found = list(goals)
    Random(seed).shuffle(found)
    return found


def weighted(goals: Sequence[Goal]) -> list[Goal]:
    """Goals weighted by the mean, over a goal's attributes, of one over the number of goals with the
    attribute.
    """
    having = Counter(attribute for goal in goals for attribute in goal.attributes)
    return [
        replace(goal, weight=sum(1 / having[one] for one in goal.attributes) / len(goal.attributes))
        for goal in goals
    ]


def _goal(
    product: Product,
    text: str,
    attributes: tuple[str, ...],
    options: tuple[str, ...] | Mapping[str, str],
    bound: float,
) -> Goal:
    return Goal(
        asin=product.asin,
        name=product.title,
        query=product.query,
        product_category=product.product_category,
        instruction=text,
        attributes=attributes,
        options=options,
        price_upper=bound,
    )


def _bound(price: float, draw: Random) -> float:
    """A price bound; without a draw if fewer than two bounds are above the price."""
    near = [bound for bound in _BOUNDS if bound > price][:_NEAR]
    return float(max(draw.sample(near, 2))) if len(near) >= 2 else NO_BOUND


def _clause(bound: float) -> str:
    return f", and price lower than {bound:.2f} dollars" if bound < NO_BOUND else ""
