"""Whatever catalogues of sellers hold: cleaned, searched and walked over."""

import json
from pathlib import Path

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop import pages
from agentgym_envs.webshop.products import NO_ATTRIBUTES, cleaned
from agentgym_envs.webshop.shop import HITS, Shop
from agentgym_envs.webshop.state import State

DIRTY = json.loads((Path(__file__).parent / "webshop_dirty.json").read_text(encoding="utf-8"))
PLAIN = {"full_description": "", "small_description": [], "pricing": "$1", "customization_options": ""}
PLAIN |= {"product_category": "Toys › Blocks", "category": "garden", "query": "blocks"}
BLOCKS = [{"asin": f"B0BLOCK{number:03d}", "name": f"Wooden Block {number}"} | PLAIN for number in range(60)]
PRODUCTS = {product.asin: product for product in cleaned(DIRTY["items"] + BLOCKS, DIRTY["annotations"])}
SHOP = Shop(MemoryCatalogue(PRODUCTS.values()))
SCARF = ("search[tindal scarf]", "click[b0values01]")


def after(*actions: str) -> State:
    state = State()
    for action in actions:
        moved = SHOP.step(state, action)
        assert moved is not None, action
        state = moved
    return state


def text(state: State) -> list[str]:
    return pages.plain(SHOP, state, "find something").split(" [SEP] ")


def test_ids_that_are_missing_too_long_or_taken_are_skipped():
    assert len(PRODUCTS) == len(BLOCKS) + 7
    assert not {"nan", "B0TOOLONG12"} & PRODUCTS.keys()
    assert PRODUCTS["B0RANGED01"].title == "Fennick Desk Lamp"


@pytest.mark.parametrize(
    ("asin", "prices", "tag"),
    [
        ("B0STRING01", (12.99,), "$12.99"),
        ("B0NULLGRP1", (100.0,), "$100.0"),
        ("B0NOPRICE1", (100.0,), "$100.0"),
        ("B0RANGED01", (9.98, 16.98), "$9.98 to $16.98"),
        ("B0COMMA001", (1299.0,), "$1299.0"),
        ("B0BLANK001", (5.0,), "$5.0"),
    ],
)
def test_prices_in_all_forms(asin: str, prices: tuple[float, ...], tag: str):
    assert (PRODUCTS[asin].prices, PRODUCTS[asin].price_tag) == (prices, tag)


def test_missing_pieces():
    assert PRODUCTS["B0STRING01"].bullets == ("One bullet, which is a plain text",)
    assert PRODUCTS["B0STRING01"].query == "reading lamps"
    assert dict(PRODUCTS["B0NULLGRP1"].options) == {"color": ("black",)}
    assert dict(PRODUCTS["B0STRING01"].options) == dict(PRODUCTS["B0NOPRICE1"].options) == {}
    assert PRODUCTS["B0NULLGRP1"].attributes == ()
    assert PRODUCTS["B0NOPRICE1"].attributes == NO_ATTRIBUTES


def test_every_product_has_pages():
    for product in PRODUCTS.values():
        for part in ("", "description", "features", "reviews"):
            state = State("part" if part else "item", ("lamp",), asin=product.asin, part=part)
            assert text(state)[:4] == ["Instruction:", "find something", "Back to Search", "< Prev"]
            assert pages.rich(SHOP, state, "find something", "1")


@pytest.mark.parametrize(
    ("value", "group"),
    [
        ("navy | white", "color"),
        ("grey | ", "color"),
        ('18" wide', "color"),
        ("salt & pepper", "color"),
        ("<plain>", "color"),
        ("spaced", "color"),
        ("kid's", "lining"),  # in both: the last one
    ],
)
def test_values_that_can_be_clicked(value: str, group: str):
    chosen = after(*SCARF, f"click[{value}]")
    assert dict(chosen.options) == {group: value}
    bought = SHOP.step(chosen, "click[buy now]")
    assert bought is not None
    assert bought.page == "done"
    assert "'" not in text(bought)[text(bought).index("options") + 1]


def test_values_that_cannot_be_clicked():
    item = after(*SCARF)
    assert {"red [knit]", ""} <= SHOP.clickables(item).keys()
    assert SHOP.step(item, "click[red [knit]]") is None
    assert SHOP.step(item, "click[]") is None


def test_values_that_are_called_like_a_button():
    assert after(*SCARF, "click[description]").part == "description"
    assert after(*SCARF, "click[buy now]").chosen == ()  # bought, without any option


def test_equal_values_of_a_group_are_one_thing_to_click():
    item = after("search[fennick desk lamp]", "click[b0ranged01]")
    assert text(item).count("small") == 2
    assert list(SHOP.clickables(item)).count("small") == 1


def test_empty_texts_are_empty_segments_or_none():
    assert (
        text(after("search[fennick floor lamp]", "click[b0nullgrp1]", "click[description]"))[-1] == "< Prev"
    )
    features = text(after("search[fennick desk lamp]", "click[b0ranged01]", "click[features]"))
    assert features[-2:] == ["", "Bends in three places"]
    assert text(after("search[velmora]", "click[b0blank001]"))[4:6] == ["", "Price: $5.0"]


def test_searches_for_nothing_and_for_very_much():
    assert not SHOP.hits(after("search[the of and]"))
    assert not SHOP.hits(after("search[ ]"))
    assert list(SHOP.hits(after(f"search[{'chandelier the ' * 500}]"))) == ["B0COMMA001"]


def test_pages_before_and_beyond_the_hits():
    turns = ["click[next >]"] * 5
    assert len(SHOP.shown(after("search[wooden block]", *turns[:4]))) == HITS
    beyond = after("search[wooden block]", *turns, *turns)
    assert (beyond.number, SHOP.shown(beyond)) == (11, [])
    assert after("search[wooden block]", "click[next >]", "click[< prev]").number == 1
    assert SHOP.step(after("search[wooden block]"), "click[< prev]") is None


@pytest.mark.parametrize("further", [(), ("click[features]",), ("click[buy now]",)])
def test_a_search_is_possible_on_all_pages(further: tuple[str, ...]):
    found = after(*SCARF, *further, "search[chandelier]")
    assert (found.page, found.asin, found.chosen) == ("results", "", ())
