"""The shop's pages and moves, on products made for the cases that catalogues have."""

import pytest

from agentgym_envs.webshop import pages
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.shop import Shop, parsed
from agentgym_envs.webshop.state import State


def product(asin: str, title: str, **changes: object) -> Product:
    plain = {"description": "", "bullets": (), "prices": (5.0,), "price_tag": "$5.0", "options": {}}
    plain |= {"query": "shorts", "category": "fashion", "product_category": "Men › Shorts"}
    return Product(**({"asin": asin, "title": title} | plain | changes))  # type: ignore[arg-type]


OPTIONS = {"color": ("navy | white", "black"), "lining": ("black", "description", "")}
SHOP = Shop(
    [
        product("B0SHORTS01", "ACME Shorts", options=OPTIONS, bullets=("", "Machine wash"), description=" "),
        *(product(f"B0FILL{number:04d}", f"plain socks {number}") for number in range(13)),
    ]
)


def after(*actions: str) -> State:
    state = State()
    for action in actions:
        moved = SHOP.step(state, action)
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


def test_ten_hits_a_page_and_pages_without_end():
    first = after("search[plain socks]")
    assert list(SHOP.clickables(first))[:3] == ["back to search", "next >", "b0fill0000"]
    assert len(SHOP.shown(first)) == 10
    beyond = after("search[plain socks]", "click[next >]", "click[next >]")
    assert list(SHOP.clickables(beyond)) == ["back to search", "< prev", "next >"]
    assert "Page 3 (Total results: 13)" in pages.plain(SHOP, beyond, "buy")
    assert SHOP.step(beyond, "click[< prev]") == after("search[plain socks]", "click[next >]")


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
    assert (again.page, SHOP.hits(again)) == ("results", [])


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
