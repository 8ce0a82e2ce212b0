"""Baseline players: lower bounds for any agent, and the oracle as an upper bound.

None of them learns or guesses: `rule` searches for the instruction itself and takes the first hit with the
options that the instruction names. All play through messages, without a limit of turns.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from agentgym_envs.webshop.colors import normalized
from agentgym_envs.webshop.players.visit import Visit
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import ENOUGH, Earned, Goal, Nouns, earned, ratio
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State

Player = Callable[[Shop, Goal, Random], list[str]]
"""Messages of an episode. All but `oracle` use only the instruction of a goal."""
_CLAUSE = re.compile(r",? and price lower than ([0-9.]+) dollars")
_WORD = re.compile(r"[a-z0-9]+")
PAGES = 5
"""Number of result pages with hits."""


@dataclass(frozen=True)
class Played:
    """Result of an episode."""

    state: State
    earned: Earned | None
    """None without a purchase."""

    @property
    def score(self) -> float:
        """Reward of the episode, from 0 to 1."""
        return self.earned.total if self.earned else 0.0


def play(
    shop: Shop, goal: Goal, messages: Sequence[str], price: Callable[[Product], float], nouns: Nouns
) -> Played:
    """The result of messages up to a purchase; `price` returns the price of a product, in dollars."""
    state = State()
    for message in messages:
        state = shop.step(state, message) or state
        if state.page == "done":
            bought = shop.catalogue.products[state.asin]
            chosen = list(state.options.values())
            return Played(state, earned(goal, bought, chosen, price(bought), nouns, shop.rules.reward))
    return Played(state, None)


def do_nothing(_shop: Shop, _goal: Goal, _draw: Random) -> list[str]:
    """No messages."""
    return []


def random_product(shop: Shop, _goal: Goal, draw: Random) -> list[str]:
    """Buy a random product of the catalogue."""
    products = shop.catalogue.products
    asin = next(islice(products, draw.randrange(len(products)), None))
    return _bought(shop, asin, products[asin].title, {})


def first_hit(shop: Shop, goal: Goal, _draw: Random) -> list[str]:
    """Buy the first hit of a search for the instruction."""
    return _first(shop, goal.instruction, choosing=False)


def rule(shop: Shop, goal: Goal, _draw: Random) -> list[str]:
    """Buy the first hit, with the options that the instruction names."""
    return _first(shop, goal.instruction, choosing=True)


def rule_page1(shop: Shop, goal: Goal, _draw: Random) -> list[str]:
    """Open the first ten hits and buy the one with the most words of the instruction."""
    query, bound = wanted(goal.instruction)
    words = set(_WORD.findall(query))
    visit = Visit(shop)
    visit.search(query)
    found: list[tuple[float, str]] = []
    for offer in visit.offers():
        visit.open(offer.asin)
        named = named_options(visit.groups(), query)
        texts = [offer.title, *named.values()]
        for part in ("features", "description"):
            texts.append(visit.read(part))
            visit.back()
        said = set(_WORD.findall(" ".join(texts).lower()))
        fits = len(words & said) / max(1, len(words)) + len(named) + (offer.highest <= bound)
        found.append((fits, offer.asin))
        visit.back()
    if found:
        visit.open(max(found, key=lambda one: one[0])[1])  # the first of the best
        _choose(visit, named_options(visit.groups(), query))
        visit.buy()
    return visit.messages


def oracle(shop: Shop, goal: Goal, _draw: Random) -> list[str]:
    """Buy the target product with its options: the maximum that the shop allows."""
    query, _ = wanted(goal.instruction)
    return _bought(shop, goal.asin, query, goal.options)


BASELINES: Mapping[str, Player] = {
    "do_nothing": do_nothing,
    "random_product": random_product,
    "first_hit": first_hit,
    "rule": rule,
    "rule_page1": rule_page1,
    "oracle": oracle,
}


def scores(
    player: Player, shop: Shop, goals: Sequence[Goal], price: Callable[[Product], float], nouns: Nouns
) -> list[float]:
    """Rewards of a player for every goal, from 0 to 1; draws are the same on every call."""
    draw = Random(0)
    return [play(shop, goal, player(shop, goal, draw), price, nouns).score for goal in goals]


def wanted(instruction: str) -> tuple[str, float]:
    """An instruction without its price clause, and the price: infinite if there is none.

    >>> wanted("find me shorts with color: black, and price lower than 30.00 dollars")
    ('find me shorts with color: black', 30.0)
    """
    clause = _CLAUSE.search(instruction)
    return _CLAUSE.sub("", instruction), float(clause[1]) if clause else float("inf")


def named_options(groups: Mapping[str, Sequence[str]], text: str) -> dict[str, str]:
    """The longest value of each group that a text contains.

    >>> named_options({"size": ("small", "x-small"), "color": ("red",)}, "an x-small shirt")
    {'size': 'x-small'}
    """
    text = text.lower()
    named = {
        group: [value for value in values if value and value in text] for group, values in groups.items()
    }
    return {group: max(values, key=len) for group, values in named.items() if values}


def _first(shop: Shop, instruction: str, *, choosing: bool) -> list[str]:
    query, _ = wanted(instruction)
    visit = Visit(shop)
    visit.search(query)
    for offer in visit.offers()[:1]:
        visit.open(offer.asin)
        if choosing:
            _choose(visit, named_options(visit.groups(), query))
        visit.buy()
    return visit.messages


def _bought(shop: Shop, asin: str, query: str, options: Sequence[str] | Mapping[str, str]) -> list[str]:
    """Buy a product found by a query, or else by its title, which is public."""
    visit = Visit(shop)
    if _found(visit, asin, query) or _found(visit, asin, shop.catalogue.products[asin].title):
        if isinstance(options, Mapping):
            _choose(visit, options)
        else:
            _choose(visit, _placed(visit.groups(), options))
        visit.buy()
    return visit.messages


def _found(visit: Visit, asin: str, query: str) -> bool:
    visit.search(query)
    for number in range(PAGES):
        if number and not visit.turn():
            return False
        if any(offer.asin == asin for offer in visit.offers()):
            return visit.open(asin)
    return False


def _choose(visit: Visit, options: Mapping[str, str]) -> None:
    for group, value in options.items():
        visit.choose(group, value)


def _placed(groups: Mapping[str, Sequence[str]], values: Sequence[str]) -> dict[str, str]:
    """Values in the groups that offer them: the equal one, or the most similar."""
    placed: dict[str, str] = {}
    for value in values:
        offered = [
            (own == value, ratio(normalized(own), normalized(value)), group, own)
            for group, values in groups.items()
            for own in values
            if group not in placed
        ]
        same, alike, group, own = max(offered, key=lambda one: one[:2], default=(False, 0, "", ""))
        if same or alike > ENOUGH:
            placed[group] = own
    return placed
