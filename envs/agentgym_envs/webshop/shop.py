"""State transitions and clickable elements of the shop: the original's rules, without its HTML pages."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from agentgym_envs.webshop.actions import Action, parsed
from agentgym_envs.webshop.catalogues.catalogue import Catalogue
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rules import COMPAT, Rules
from agentgym_envs.webshop.state import State

HITS = 10
"""Number of hits on a page of results."""
PARTS = ("description", "features", "reviews")
ATTRIBUTES = "attributes"
BACK, PREVIOUS, NEXT, BUY, SEARCH = "back to search", "< prev", "next >", "buy now", "search"
REMEMBERED, LONGEST = 4096, 500
"""Size of the search cache, and maximum length of its queries: repeated searches, such as page turns, cost
nothing.
"""


class Shop:
    """Immutable catalogue with its rules."""

    def __init__(self, catalogue: Catalogue, rules: Rules = COMPAT) -> None:
        self.catalogue = catalogue
        self.rules = rules
        self.parts = (*PARTS, ATTRIBUTES) if rules.show_attributes else PARTS
        self._found = lru_cache(maxsize=REMEMBERED)(self._search)

    def hits(self, state: State) -> Sequence[str]:
        """Ids of all hits of the state's keywords, best first."""
        is_short = sum(map(len, state.keywords)) <= LONGEST
        return self._found(state.keywords) if is_short else self._search(state.keywords)

    def shown(self, state: State) -> list[Product]:
        """Ids on the state's page of results."""
        page = self.hits(state)[HITS * (state.number - 1) : HITS * state.number]
        return [self.catalogue.products[asin] for asin in page]

    def clickables(self, state: State) -> dict[str, str]:
        """Clickable names, in order; an option value with its group, else ''."""
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
        found = dict.fromkeys([BACK, PREVIOUS, *self.parts, BUY], "")
        return found | self._values(state)

    def step(self, state: State, message: str) -> State | None:
        """The state after an agent's message; None if it has no effect."""
        action = parsed(message, self.rules.parser)
        return None if action is None else self.act(state, action)

    def act(self, state: State, action: Action) -> State | None:
        """As `step`, with a parsed action."""
        if state.page == "done" and self.rules.after_done == "fixed":
            return None
        if action.name == "search":
            return State("results", tuple(action.argument.split(" ")), visited=state.visited)
        clickables = self.clickables(state)
        if self.rules.duplicate_value == "fixed" and state.page == "item":
            clickables |= self._named_values(state, clickables)
        if action.argument not in clickables or action.argument == SEARCH:
            return None
        return self._clicked(state, action.argument, clickables)

    def _values(self, state: State) -> dict[str, str]:
        """Value -> its group: of several, the last, or (fixed) the first without a choice."""
        found: dict[str, str] = {}
        for group, values in self.catalogue.products[state.asin].options.items():
            for value in values:
                open_before = value in found and found[value] not in state.options
                if self.rules.duplicate_value == "upstream" or not open_before:
                    found[value] = group
        return found

    def _named_values(self, state: State, known: Mapping[str, str]) -> dict[str, str]:
        """`group: value` -> group, unless it is another element's name."""
        options = self.catalogue.products[state.asin].options
        pairs = {f"{group}: {value}": group for group, values in options.items() for value in values}
        return {name: group for name, group in pairs.items() if name not in known}

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
        if state.page == "item" and argument in self.parts:  # also if an option has that value
            return replace(state, page="part", part=argument)
        if state.page == "item":
            group = clickables[argument]
            named = argument not in self.catalogue.products[state.asin].options[group]
            value = argument.removeprefix(f"{group}: ") if named else argument
            return replace(state, chosen=tuple({**state.options, group: value}.items()))
        asin = next(product.asin for product in self.shown(state) if product.asin.lower() == argument)
        return replace(state, page="item", asin=asin, visited=state.visited | {asin})

    def _search(self, keywords: Sequence[str]) -> Sequence[str]:
        if self.rules.hidden_queries and keywords[0] == "<q>":
            return self.catalogue.labelled("query", " ".join(keywords[1:]).strip())
        if self.rules.hidden_queries and keywords[0] == "<c>":
            return self.catalogue.labelled("category", "".join(keywords[1:2]).strip())
        return self.catalogue.search(" ".join(keywords))
