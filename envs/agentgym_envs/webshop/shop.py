"""What an action does, and what may be clicked: the original's rules, without its pages of HTML."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.search.bm25 import Index
from agentgym_envs.webshop.state import State

HITS = 10
"""On a page of results."""
PARTS = ("description", "features", "reviews")
BACK, PREVIOUS, NEXT, BUY, SEARCH = "back to search", "< prev", "next >", "buy now", "search"
_ACTION = re.compile(r"(.+)\[(.+)\]")


def parsed(action: str) -> tuple[str, str] | None:
    """`search` or `click`, and its argument in lower case; None for anything else.

    As in the original, the expression is anchored at its beginning alone, and greedy.

    >>> parsed("click[Buy Now] please"), parsed("search[a] and click[b]"), parsed("Search[x]")
    (('click', 'buy now'), None, None)
    """
    found = _ACTION.match(action)
    if found is None or found[1] not in ("search", "click"):
        return None
    return found[1], found[2].lower()


class Shop:
    """A catalogue and its search engine. Nothing in it changes."""

    def __init__(self, products: Iterable[Product]) -> None:
        self.products = {product.asin: product for product in products}
        self._asins = {asin.lower(): asin for asin in self.products}
        self._index = Index.of({asin: product.index_text for asin, product in self.products.items()})
        self._found = lru_cache(maxsize=4096)(self._search)

    def hits(self, state: State) -> list[Product]:
        """All that the state's keywords find, best first."""
        return [self.products[asin] for asin in self._found(" ".join(state.keywords))]

    def shown(self, state: State) -> list[Product]:
        """Those on the state's page of results."""
        return self.hits(state)[HITS * (state.number - 1) : HITS * state.number]

    def clickables(self, state: State) -> dict[str, str]:
        """What may be clicked, in order; a value of an option with the group that it is of, else ''."""
        if state.page == "index":
            return {SEARCH: ""}
        if state.page == "results":
            turns = [PREVIOUS] * (state.number > 1) + [NEXT]
            asins = [product.asin.lower() for product in self.shown(state)]
            return dict.fromkeys([BACK, *turns, *asins], "")
        if state.page == "part":
            return dict.fromkeys([BACK, PREVIOUS], "")
        if state.page == "done":
            return {}
        found = dict.fromkeys([BACK, PREVIOUS, *PARTS, BUY], "")
        for group, values in self.products[state.asin].options.items():
            found |= dict.fromkeys(values, group)  # of two groups with a value, the last
        return found

    def step(self, state: State, action: str) -> State | None:
        """The state after an action; None where it does nothing."""
        told = parsed(action)
        if told is None:
            return None
        name, argument = told
        if name == "search":
            return State("results", tuple(argument.split(" ")), visited=state.visited)
        clickables = self.clickables(state)
        if argument not in clickables or argument == SEARCH:
            return None
        return self._clicked(state, argument, clickables)

    def _clicked(self, state: State, argument: str, clickables: Mapping[str, str]) -> State:
        if argument == BUY:
            return replace(state, page="done")
        if argument == BACK:
            return State()
        if argument in (NEXT, PREVIOUS) and state.page == "results":
            return replace(state, number=state.number + (1 if argument == NEXT else -1), chosen=())
        if argument == PREVIOUS:
            if state.page == "part":
                return replace(state, page="item", part="")
            return replace(state, page="results", asin="", chosen=())
        if state.page == "item" and argument in PARTS:  # also where an option has that value
            return replace(state, page="part", part=argument)
        if state.page == "item":
            options = {**state.options, clickables[argument]: argument}
            return replace(state, chosen=tuple(options.items()))
        asin = self._asins[argument]
        return replace(state, page="item", asin=asin, visited=state.visited | {asin})

    def _search(self, text: str) -> tuple[str, ...]:
        return tuple(asin for asin, _ in self._index.search(text))
