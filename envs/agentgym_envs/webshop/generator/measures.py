"""Difficulty measures: success of rules that do not read, and the share of facts hidden from a search."""

from collections.abc import Mapping, Sequence

from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop.generator.checks import hidden
from agentgym_envs.webshop.generator.names import DIFFICULTIES
from agentgym_envs.webshop.generator.rules import outcomes
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.wishes import Wish

MOST = {"rule": 0.25, "page1_titles": 0.45}
"""Maximum share of goals that a rule may solve, per difficulty."""
HIDDEN = 0.6
"""Minimum share of goals with a fact that only the page of features states."""
ENOUGH = 100
"""Minimum number of goals for a measure: of the test split or, with fewer there, of all splits. The few
families of a small catalogue are not significant.
"""


def demand(
    wishes: Sequence[Wish], index: Index, products: Mapping[str, Product], prices: Mapping[str, float]
) -> None:
    """Raise `ValueError` if goals are too easy."""
    there = [hidden(wish.goal, products[wish.goal.asin]) for wish in wishes]
    if sum(there) < HIDDEN * len(there):
        raise ValueError(f"only {sum(there)} of {len(there)} goals need the page of features")
    for difficulty in DIFFICULTIES:
        asked = [wish for wish in wishes if wish.difficulty == difficulty]
        held_out = [wish for wish in asked if wish.split == "test"]
        measured = held_out if len(held_out) >= ENOUGH else asked
        found = success(measured, index, products, prices) if len(measured) >= ENOUGH else {}
        for name, most in MOST.items():
            if found.get(name, 0.0) >= most:
                told = f"{name} solves {found[name]:.0%} of {len(measured)} {difficulty} goals"
                raise ValueError(f"{told}: {most:.0%} is too much")


def success(
    wishes: Sequence[Wish], index: Index, products: Mapping[str, Product], prices: Mapping[str, float]
) -> dict[str, float]:
    """Rule -> share of the goals for which it earns 1."""
    found = [outcomes(wish.goal, index, products, prices) for wish in wishes]
    names = found[0] if found else ()
    return {name: sum(one[name] == 1.0 for one in found) / len(found) for name in names}
