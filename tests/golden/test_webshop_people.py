"""Nine sessions of people at the web site, with its catalogue of 1.18 million products: moves and rewards."""

import ast
import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from agentgym_envs.webshop.catalogues.catalogue import Label
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal, earned
from agentgym_envs.webshop.shop import HITS, Shop
from agentgym_envs.webshop.state import Page, State

pytestmark = pytest.mark.golden

SESSIONS = 9
PAGES: dict[str, Page] = {
    "index": "index",
    "search_results": "results",
    "item_page": "item",
    "item_sub_page": "part",
    "done": "done",
}


def product(asin: str, title: str = "", **changes: Any) -> Product:
    plain: dict[str, Any] = {"description": "", "bullets": (), "prices": (0.0,), "options": {}, "query": ""}
    plain |= {"price_tag": "", "category": "", "product_category": ""}
    return Product(asin=asin, title=title, **(plain | changes))


def sessions(shared_data: Path) -> list[list[dict[str, Any]]]:
    paths = sorted((shared_data / "webshop" / "human_trajs_9").glob("*.jsonl"))
    assert len(paths) == SESSIONS
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]


class Visited:
    """What a session shows of the catalogue: hits of pages of results, and values that were chosen."""

    def __init__(self, events: list[dict[str, Any]]) -> None:
        self.products: dict[str, Product] = {}
        self._found: dict[str, list[str]] = {}
        for content in (event["content"] for event in events if "content" in event):
            if "search_result_asins" in content:
                hits = self._found.setdefault(" ".join(content["keywords"]), [])
                before = HITS * (content["page"] - 1)
                hits += [f"unseen{place}" for place in range(len(hits), before)]
                hits[before:] = content["search_result_asins"]
            elif content["options"]:
                options = {group: (value,) for group, value in content["options"].items()}
                self.products[content["asin"]] = product(content["asin"], options=options)
        for asin in (hit for hits in self._found.values() for hit in hits):
            self.products.setdefault(asin, product(asin))

    def search(self, text: str) -> list[str]:
        return self._found[text]

    def labelled(self, kind: Label, label: str) -> list[str]:
        raise AssertionError(f"nobody asked for {kind} {label}")


def state_of(event: dict[str, Any]) -> dict[str, Any]:
    """What an address says; that of a purchase says no more of the search."""
    content, page = event.get("content", {}), PAGES[event["page"]]
    words = content.get("keywords", [])
    part = unquote(event["url"]).split("/")[-2].lower() if page == "part" else ""
    told = {
        "page": page,
        "asin": content.get("asin", ""),
        "part": part,
        "options": content.get("options", {}),
    }
    if page != "done":
        keywords = ast.literal_eval(words) if isinstance(words, str) else words
        told |= {"keywords": tuple(keywords), "number": int(content.get("page", 1))}
    return told


def told(state: State, names: dict[str, Any]) -> dict[str, Any]:
    return {name: getattr(state, name) for name in names}


@pytest.mark.parametrize("number", range(SESSIONS))
def test_each_page_is_one_action_from_the_one_before(shared_data: Path, number: int) -> None:
    events = sessions(shared_data)[number]
    shop, state = Shop(Visited(events)), State()
    assert told(state, state_of(events[0])) == state_of(events[0])
    for event in events[1:]:
        wanted = state_of(event)
        messages = [f"click[{name}]" for name in shop.clickables(state)]
        messages += [f"search[{' '.join(wanted.get('keywords', ()))}]"]
        after = [one for message in messages if (one := shop.step(state, message)) is not None]
        found = [one for one in (state, *after) if told(one, wanted) == wanted]  # a page may be loaded again
        assert found, (event["url"], messages)
        state = found[0]
    assert state.page == "done"


@pytest.mark.parametrize("number", range(SESSIONS))
def test_what_people_bought_earns_what_it_earned(shared_data: Path, number: int) -> None:
    """With the share of nouns that spaCy found: parts of a purchase are told, its product is not."""
    last = sessions(shared_data)[number][-1]
    told_goal, info = last["goal"], last["reward_info"]
    share = Fraction(info["title_score"]).limit_denominator(30)
    goal = Goal(
        asin=told_goal["asin"],
        name="wanted",
        query="wanted",
        product_category="a › b" if info["category_match"] else "a",
        instruction=told_goal["instruction_text"],
        attributes=tuple(told_goal["attributes"]),
        options=tuple(told_goal["goal_options"]),
        price_upper=told_goal["price_upper"],
    )
    bought = product(
        last["content"]["asin"],
        "bought",
        query="wanted" if info["query_match"] else "other",
        product_category="b › a",
        attributes=goal.attributes[: round(info["r_att"] * len(goal.attributes))],
    )
    words = [f"noun{place}" for place in range(share.denominator)]
    nouns = {"wanted": words, "bought": words[: share.numerator]}
    chosen = list(last["content"]["options"].values())
    found = earned(goal, bought, chosen, last["content"]["price"], nouns.__getitem__)
    assert found.title_score == pytest.approx(info["title_score"], abs=1e-12)
    assert found.r_type == info["r_type"]
    assert (found.query_match, found.category_match) == (info["query_match"], info["category_match"])
    assert found.price == info["r_price"]
    if goal.options:
        assert found.options / len(goal.options) == info["r_option"]
    assert found.total == last["reward"]
