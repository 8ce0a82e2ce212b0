"""Reward of a purchase (arXiv:2207.01206, section 3.1, as princeton-nlp/WebShop computes it).

reward = type * (attributes + options + price) / (number of attributes + number of options + 1)

Two rules of the original for goals whose options have names are a matter of `Matching`: there it compares the
pair as text, so that 458 of 6,910 goals of its small set cannot be reached.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from rapidfuzz import fuzz, utils

from agentgym_envs.webshop.colors import COLORS, normalized
from agentgym_envs.webshop.products import Product

ENOUGH = 85
"""Ratio above which two texts are equal."""
Matching = Literal["upstream", "fixed"]
Nouns = Callable[[str], Sequence[str]]
"""Nouns of a title, in lower case, each as often as it occurs."""
_NOT_ASCII = dict.fromkeys(range(0x80, 0x100))


@dataclass(frozen=True)
class Goal:
    """Requirements of a purchase."""

    asin: str
    name: str
    query: str
    product_category: str
    instruction: str
    attributes: tuple[str, ...]
    options: tuple[str, ...] | Mapping[str, str]
    """Values, or group -> value."""
    price_upper: float
    """Maximum price in dollars."""
    weight: float = 1.0
    """Sampling weight, if goals are sampled."""


@dataclass(frozen=True)
class Earned:
    """Reward with its parts."""

    total: float
    r_type: float
    query_match: bool
    category_match: bool
    title_score: float
    attributes: int
    """Number of matched attributes."""
    options: int
    """Number of matched options."""
    price: bool
    weights: Mapping[str, float]
    """Shares of the denominator: `w_att`, `w_option` (where the goal has options) and `w_price`."""


def earned(
    goal: Goal,
    product: Product,
    chosen: Sequence[str],
    price: float,
    nouns: Nouns,
    matching: Matching = "upstream",
) -> Earned:
    """The reward of buying `product` at `price` with these option values."""
    query_match = goal.query == product.query
    category_match = len(_path(goal.product_category) & _path(product.product_category)) >= 2
    score = _title_score(nouns(goal.name), nouns(product.title))
    r_type = _type(query_match or category_match, score)
    attributes = sum(_has(product, attribute) for attribute in goal.attributes)
    wanted = _wanted(goal.options, matching)
    options = sum(any(ratio(normalized(value), option) > ENOUGH for value in chosen) for option in wanted)
    affordable = price <= goal.price_upper
    whole = len(goal.attributes) + len(wanted) + 1
    weights = {"w_att": len(goal.attributes) / whole, "w_price": 1 / whole}
    return Earned(
        total=(attributes + options + affordable) / whole * r_type,
        r_type=r_type,
        query_match=query_match,
        category_match=category_match,
        title_score=score,
        attributes=attributes,
        options=options,
        price=affordable,
        weights=weights | ({"w_option": len(wanted) / whole} if wanted else {}),
    )


def parts(earnings: Earned, goal: Goal, product: Product, chosen: Sequence[str]) -> dict[str, float | bool]:
    """Parts of a reward for a trainer: the original's names, and exact matches without the tolerance of word
    comparison (`asin_match`, `options_exact`, `attributes_all`, `price_ok`).
    """
    wanted = goal.options.values() if isinstance(goal.options, Mapping) else goal.options
    known: dict[str, float | bool] = {
        "r_type": earnings.r_type,
        "query_match": earnings.query_match,
        "category_match": earnings.category_match,
        "title_score": earnings.title_score,
        "r_att": earnings.attributes / len(goal.attributes),
        "r_price": float(earnings.price),
        **earnings.weights,
        "asin_match": goal.asin == product.asin,
        "options_exact": set(wanted) <= set(chosen),
        "attributes_all": earnings.attributes == len(goal.attributes),
        "price_ok": earnings.price,
    }
    return known | ({"r_option": earnings.options / len(wanted)} if wanted else {})


@lru_cache(maxsize=1 << 15)
def ratio(one: str, other: str) -> int:
    """thefuzz's `token_set_ratio`, from 0 to 100: how much of their words two texts share.

    >>> ratio("x-small", "small"), ratio("easy clean", "easy to clean"), ratio("tan", "standard")
    (100, 100, 55)
    """
    left, right = (utils.default_process(text.translate(_NOT_ASCII)) for text in (one, other))
    return round(fuzz.token_set_ratio(left, right)) if left and right else 0


def _wanted(options: tuple[str, ...] | Mapping[str, str], matching: Matching) -> list[str]:
    """Texts that chosen values are compared with."""
    if not isinstance(options, Mapping):
        return [normalized(option) for option in options]
    if matching == "fixed":
        return [normalized(value) for value in options.values()]
    return [_pair(pair) for pair in options.items()]


def _pair(pair: tuple[str, str]) -> str:
    """A group with its value in the original's comparison: the text of the pair, or a colour in it."""
    return next((color for color in COLORS if color in pair), str(pair))


def _has(product: Product, attribute: str) -> bool:
    texts = product.title, " ".join(product.bullets), product.description
    return any(ratio(own, attribute) > ENOUGH for own in product.attributes) or any(
        attribute in text.lower() for text in texts
    )


@lru_cache(maxsize=1 << 12)
def _path(category: str) -> frozenset[str]:
    return frozenset(step.strip() for step in category.split("›"))


def _title_score(wanted: Sequence[str], bought: Sequence[str]) -> float:
    return len(set(wanted) & set(bought)) / len(wanted) if wanted else 0.2


def _type(same_kind: bool, title_score: float) -> float:
    """The type factor; later rules override earlier ones."""
    if title_score == 0:
        return 0.0
    if title_score < 0.1:
        return 0.1
    return 1.0 if same_kind or title_score > 0.2 else 0.5
