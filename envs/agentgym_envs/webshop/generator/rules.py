"""Baseline rules that buy without reading, which the generated goals must defeat.

`rule` searches for the instruction, takes the first hit and chooses the options that the text names.
`page1_titles` takes the best of the first ten by options, title and price. `page1_texts` compares the words
of all texts of the ten instead, like a reader of every page without knowledge of synonyms.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.search.bm25 import Index
from agentgym_envs.webshop.generator.instructions import plain
from agentgym_envs.webshop.nouns import nouns
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal, earned
from agentgym_envs.webshop.shop import HITS

Purchase = tuple[Product, Sequence[str]]
"""Product with the chosen values."""
Rule = Callable[[Goal, Sequence[Product]], Purchase]


def first_hit(_: Goal, hits: Sequence[Product]) -> Purchase:
    """The first hit, without options."""
    return hits[0], ()


def rule(goal: Goal, hits: Sequence[Product]) -> Purchase:
    """The first hit, with the options that the instruction names."""
    return hits[0], named(hits[0], goal)


def page1_titles(goal: Goal, hits: Sequence[Product]) -> Purchase:
    """The best of the page by the content of the results and of the item pages."""
    best = max(hits, key=lambda hit: _fit(goal, hit, (hit.title,)))
    return best, named(best, goal)


def page1_texts(goal: Goal, hits: Sequence[Product]) -> Purchase:
    """The best of the page by all of its texts."""
    best = max(hits, key=lambda hit: _fit(goal, hit, (hit.title, hit.description, *hit.bullets)))
    return best, named(best, goal)


RULES: Mapping[str, Rule] = {
    "first_hit": first_hit,
    "rule": rule,
    "page1_titles": page1_titles,
    "page1_texts": page1_texts,
}


def named(product: Product, goal: Goal) -> list[str]:
    """The longest value of each group that the instruction contains."""
    text = plain(goal.instruction)
    groups = ([value for value in group if value in text] for group in product.options.values())
    return [longest for group in groups if (longest := max(group, key=len, default=""))]


def outcomes(
    goal: Goal, index: Index, products: Mapping[str, Product], prices: Mapping[str, float]
) -> dict[str, float]:
    """Reward of each rule."""
    hits = [products[asin] for asin, _ in index.search(plain(goal.instruction), HITS)]
    if not hits:
        return dict.fromkeys(RULES, 0.0)
    bought = {name: act(goal, hits) for name, act in RULES.items()}
    return {
        name: earned(goal, product, chosen, prices[product.asin], cached_nouns, "fixed").total
        for name, (product, chosen) in bought.items()
    }


@lru_cache(maxsize=1 << 14)
def cached_nouns(title: str) -> tuple[str, ...]:
    """Cached `nouns`."""
    return tuple(nouns(title))


def _fit(goal: Goal, product: Product, texts: Sequence[str]) -> tuple[bool, int, int]:
    words = set(analyzed(plain(goal.instruction)))
    there = _terms(" ".join(texts))
    return max(product.prices) <= goal.price_upper, len(named(product, goal)), len(words & there)


@lru_cache(maxsize=1 << 14)
def _terms(text: str) -> frozenset[str]:
    return frozenset(analyzed(text))
