"""The web site's language, on states that no recorded episode came to."""

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop.dialects import site
from agentgym_envs.webshop.dialects.site import LATS, REACT, Reply
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rules import FIXED
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State


def product(asin: str, title: str, **changes: object) -> Product:
    plain = {"description": "Light.", "bullets": (), "prices": (5.0,), "price_tag": "$5.0", "options": {}}
    plain |= {"query": "shorts", "category": "fashion", "product_category": "Men › Shorts"}
    return Product(**({"asin": asin, "title": title} | plain | changes))  # type: ignore[arg-type]


SOLD = MemoryCatalogue(
    [
        product("B0", "Shorts", options={"color": ("red [2]", "blue"), "fit": ("description", "")}),
        *(product(f"B{number}", f"socks {number}") for number in range(1, 6)),
    ]
)
SHOP = Shop(SOLD)
ITEM = "\n[Back to Search] \n[< Prev] \ncolor {}\nfit [description]\nShorts \nPrice: $5.0 \nRating: N.A. "
PARTS = "\n[Description] \n[Features] \n[Reviews] \n[Buy Now] "


def after(*messages: str) -> State:
    state = State()
    for message in messages:
        before, (state, told) = state, site.answer(SHOP, state, message)
        assert (state, told) != (before, site.INVALID), message
    return state


def test_the_first_page_tells_what_is_wanted_and_no_other_does():
    assert site.page(SHOP, State(), "socks") == "\nWebshop \nInstruction:  \nsocks \n[Search] "
    found = site.page(SHOP, after("search[Shorts]"), "socks")
    assert found == "\n[Back to Search] \nPage 1 (Total results: 1) \n[Next >] \n[B0] \nShorts \n$5.0 "


def test_three_results_have_titles_and_all_ten_can_be_opened():
    results = after("search[socks]")
    head = "\n[Back to Search] \nPage 1 (Total results: 5) \n[Next >] "
    shown = "".join(f"\n[B{number}] \nsocks {number} \n$5.0 " for number in (1, 2, 3))
    assert site.page(SHOP, results, "") == head + shown
    assert site.page(SHOP, results, "", wording=LATS) == f"{head}{shown}\n[B4] \n[B5] "
    assert after("search[socks]", "click[B5]").asin == "B5"


def test_choices_are_confirmed_and_stay_marked():
    item = after("search[Shorts]", "click[B0]")
    assert site.page(SHOP, item, "") == ITEM.format("[red [2]][blue]") + PARTS
    chosen, told = site.answer(SHOP, item, "click[red [2]]")
    assert (told, chosen.options) == ("You have clicked red [2].", {"color": "red [2]"})
    assert site.page(SHOP, chosen, "") == ITEM.format("[[red [2]]][blue]") + PARTS
    part, told = site.answer(SHOP, chosen, "click[Description]")
    assert told is None
    assert site.page(SHOP, part, "") == "\n[Back to Search] \n[< Prev] \nLight. "
    assert site.answer(SHOP, part, "click[< Prev]") == Reply(chosen, None)
    assert site.answer(SHOP, chosen, "click[< Prev]").state.chosen == ()


def test_a_purchase_ends_it():
    done = after("search[Shorts]", "click[B0]", "click[Buy Now]")
    assert site.page(SHOP, done, "", 0.75) == "Your score (min 0.0, max 1.0): 0.75"
    for message in ("click[Buy Now]", "click[Back to Search]", "search[socks]"):
        assert site.answer(SHOP, done, message) == Reply(done, site.INVALID)
    assert site.answer(SHOP, done, "reset") == Reply(State(), None)


@pytest.mark.parametrize(
    ("way", "message"),
    [
        ((), "click[Search]"),
        ((), "click[Back to Search]"),
        ((), "socks"),
        ((), ""),
        ((), "Search[socks]"),
        (("search[socks]",), "search[shorts]"),
        (("search[socks]",), "click[Next >]"),
        (("search[socks]",), "click[< Prev]"),
        (("search[socks]",), "click[b1]"),
        (("search[socks]",), "click[B0]"),
        (("search[socks]", "click[B1]"), "click[buy now]"),
        (("search[socks]", "click[B1]"), "click[Buy Now"),
        (("search[Shorts]", "click[B0]"), "click[Blue]"),
        (("search[Shorts]", "click[B0]", "click[Features]"), "click[Buy Now]"),
        (("search[Shorts]", "click[B0]", "click[Features]"), "click[blue]"),
    ],
)
def test_what_is_not_allowed_changes_nothing(way, message):
    state = after(*way)
    assert site.answer(SHOP, state, message) == Reply(state, "Invalid action!")


def test_thoughts_change_nothing():
    state = after("search[socks]")
    assert site.answer(SHOP, state, "think[of B1", REACT) == Reply(state, "OK.")
    assert site.answer(SHOP, state, "think[of B1]", LATS) == Reply(state, None)


def test_the_site_reads_its_own_way_whatever_parser_the_rules_have():
    state = Shop(SOLD, FIXED).step(State(), "search[shorts]")
    assert state is not None
    assert site.answer(Shop(SOLD, FIXED), State(), "search[Shorts]").state.keywords == ("Shorts",)
    assert site.answer(Shop(SOLD, FIXED), state, "click[B0]").state.page == "item"
