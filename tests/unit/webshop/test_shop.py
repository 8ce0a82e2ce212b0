"""The shop's pages and moves, on products made for the cases that catalogues have."""

import re
from dataclasses import replace
from itertools import product as combinations
from time import perf_counter

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop import pages
from agentgym_envs.webshop.actions import parsed
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rules import COMPAT, FIXED
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State


def product(asin: str, title: str, **changes: object) -> Product:
    plain = {"description": "", "bullets": (), "prices": (5.0,), "price_tag": "$5.0", "options": {}}
    plain |= {"query": "shorts", "category": "fashion", "product_category": "Men › Shorts"}
    return Product(**({"asin": asin, "title": title} | plain | changes))  # type: ignore[arg-type]


OPTIONS = {"color": ("navy | white", "black"), "lining": ("black", "description", "")}
SOLD = MemoryCatalogue(
    [
        product("B0SHORTS01", "ACME Shorts", options=OPTIONS, bullets=("", "Machine wash"), description=" "),
        *(product(f"B0FILL{number:04d}", f"plain socks {number}", query="socks") for number in range(63)),
    ]
)
SHOP = Shop(SOLD)
BETTER = Shop(SOLD, FIXED)


def after(*actions: str, shop: Shop = SHOP) -> State:
    state = State()
    for action in actions:
        moved = shop.step(state, action)
        assert moved is not None, action
        state = moved
    return state


@pytest.mark.parametrize(
    ("action", "told"),
    [
        ("search[Red Shoes]", ("search", "red shoes")),
        ("click[ buy now ]", ("click", " buy now ")),
        ("search[a]\nclick[b]", ("search", "a")),
        ("click[a [b]]", None),
        ("search[a [b] c]", None),
        (" search[x]", None),
        ("search [x]", None),
        ("search[]", None),
        ("search[a\nb]", None),
        ("think[a]", None),
        ("", None),
    ],
)
def test_actions_are_read_as_the_original_reads_them(action, told):
    assert parsed(action) == told


def test_all_short_messages_are_read_as_the_original_expression_reads_them():
    original = re.compile(r"(.+)\[(.+)\]")
    for tail in combinations(" []\n", repeat=7):
        message = f"click{''.join(tail)}"
        found = original.match(message)
        wanted = ("click", found[2]) if found and found[1] == "click" else None
        assert parsed(message) == wanted, message


@pytest.mark.parametrize("parser", ["upstream", "fixed"])
@pytest.mark.parametrize("message", ["[" * 200_000, "a[" * 100_000, "search[" + "]" * 200_000])
def test_reading_takes_no_time(parser, message):
    begin = perf_counter()
    parsed(message, parser)
    assert perf_counter() - begin < 1


@pytest.mark.parametrize(
    ("action", "told"),
    [
        (" Search [Red Shoes] now", ("search", "red shoes")),
        ("click[a [b]]", ("click", "a [b]")),
        ("search[a]\nclick[b]", ("search", "a")),
        ("\n\nclick[a | ]", ("click", "a | ")),
        ("search[]", None),
        ("research[x]", None),
        ("I search[x]", None),
    ],
)
def test_fixed_actions_are_read_as_they_are_meant(action, told):
    assert parsed(action, "fixed") == told


def test_ten_hits_a_page_and_pages_without_end():
    first = after("search[plain socks]")
    assert list(SHOP.clickables(first))[:3] == ["back to search", "next >", "b0fill0000"]
    assert len(SHOP.shown(first)) == 10
    beyond = after("search[plain socks]", *["click[next >]"] * 5)
    assert list(SHOP.clickables(beyond)) == ["back to search", "< prev", "next >"]
    assert "Page 6 (Total results: 50)" in pages.plain(SHOP, beyond, "buy")
    assert SHOP.step(beyond, "click[< prev]") == after("search[plain socks]", *["click[next >]"] * 4)


def test_a_value_of_two_groups_is_chosen_in_the_last_and_one_named_as_a_button_is_a_button():
    item = after("search[acme]", "click[b0shorts01]")
    assert list(SHOP.clickables(item)) == [
        *("back to search", "< prev", "description", "features", "reviews", "buy now"),
        *("navy | white", "black", ""),
    ]
    chosen = after("search[acme]", "click[b0shorts01]", "click[navy | white]", "click[black]")
    assert chosen.options == {"color": "navy | white", "lining": "black"}
    assert after("search[acme]", "click[b0shorts01]", "click[description]").page == "part"


def test_the_way_back_keeps_options_from_a_part_and_loses_them_with_the_results():
    part = after("search[acme]", "click[b0shorts01]", "click[black]", "click[features]")
    item = SHOP.step(part, "click[< prev]")
    assert item is not None
    assert item.options == {"lining": "black"}
    results = SHOP.step(item, "click[< prev]")
    assert results is not None
    assert (results.page, results.chosen, results.visited) == ("results", (), {"B0SHORTS01"})
    assert SHOP.step(results, "click[back to search]") == State()


def test_what_cannot_be_done_changes_nothing():
    start = State()
    assert [SHOP.step(start, action) for action in ("click[search]", "click[buy now]", "buy")] == [None] * 3


def test_after_a_purchase_only_a_search_does_anything():
    done = after("search[acme]", "click[b0shorts01]", "click[buy now]")
    assert SHOP.clickables(done) == {}
    assert SHOP.step(done, "click[buy now]") is None
    again = SHOP.step(done, "search[ ]")
    assert again is not None
    assert (again.page, list(SHOP.hits(again))) == ("results", [])


def test_white_space_is_an_empty_segment_and_nothing_is_none():
    features = pages.plain(SHOP, after("search[acme]", "click[b0shorts01]", "click[features]"), "buy")
    assert features == "Instruction: [SEP] buy [SEP] Back to Search [SEP] < Prev [SEP]  [SEP] Machine wash"
    description = pages.plain(SHOP, after("search[acme]", "click[b0shorts01]", "click[description]"), "buy")
    assert description == "Instruction: [SEP] buy [SEP] Back to Search [SEP] < Prev [SEP] "
    reviews = pages.plain(SHOP, after("search[acme]", "click[b0shorts01]", "click[reviews]"), "buy")
    assert reviews == "Instruction: [SEP] buy [SEP] Back to Search [SEP] < Prev"


def test_a_purchase_tells_its_options_with_signs_of_html_escaped():
    state = State("done", asin="B0SHORTS01", chosen=(("size", "<8' & up>"), ("color", "é")))
    shown = pages.plain(SHOP, state, "buy", 0.8333333333333334)
    told = '{"color": "\\u00e9", "size": "\\u003c8\\u0027 \\u0026 up\\u003e"}'
    assert f"options [SEP] {told} [SEP] attrs" in shown
    assert "max 1.0) [SEP] 0.8333333333333334 [SEP] Reward Details" in shown


def test_a_value_of_two_groups_is_chosen_in_the_first_that_is_open_or_where_its_name_says():
    item = ("search[acme]", "click[b0shorts01]")
    assert after(*item, "click[black]", shop=BETTER).options == {"color": "black"}
    twice = after(*item, "click[black]", "click[black]", shop=BETTER)
    assert twice.options == {"color": "black", "lining": "black"}
    assert after(*item, "click[lining: black]", shop=BETTER).options == {"lining": "black"}
    assert SHOP.step(after(*item), "click[lining: black]") is None


def test_after_a_purchase_nothing_is_done_where_that_is_fixed():
    done = after("search[acme]", "click[b0shorts01]", "click[buy now]", shop=BETTER)
    assert BETTER.step(done, "search[plain socks]") is None


def test_hidden_queries_list_a_whole_type_or_category_where_they_are_known():
    assert len(SHOP.hits(after("search[<q> socks]"))) == 63
    assert len(SHOP.hits(after("search[<c> fashion]"))) == 64
    assert list(SHOP.hits(after("search[<c>]"))) == []
    assert len(BETTER.hits(after("search[<q> socks]", shop=BETTER))) == 50


def test_what_is_chosen_and_what_was_annotated_are_shown_where_rules_say_so():
    shop = Shop(SOLD, replace(FIXED, echo_options=True, show_attributes=True))
    item = after("search[acme]", "click[b0shorts01]", "click[navy | white]", shop=shop)
    shown = pages.plain(shop, item, "buy")
    assert "color (navy | white chosen) [SEP] navy | white [SEP] black [SEP] lining" in shown
    assert "Reviews [SEP] Attributes [SEP] Buy Now" in shown
    attributes = shop.step(item, "click[attributes]")
    assert attributes is not None
    told = "< Prev [SEP] DUMMY_ATTR [SEP] shorts [SEP] fashion [SEP] Men › Shorts"
    assert pages.plain(shop, attributes, "buy").endswith(told)
    assert COMPAT.show_attributes is False
    assert SHOP.step(after("search[acme]", "click[b0shorts01]"), "click[attributes]") is None
