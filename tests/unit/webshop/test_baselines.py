"""The players of baselines, in a shop whose options have what makes choosing hard."""

from dataclasses import replace
from random import Random

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop.nouns import nouns
from agentgym_envs.webshop.players.baselines import (
    BASELINES,
    first_hit,
    named_options,
    oracle,
    play,
    random_product,
    rule,
    rule_page1,
    wanted,
)
from agentgym_envs.webshop.players.visit import Offer, Visit
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.rules import COMPAT, FIXED
from agentgym_envs.webshop.shop import Shop


def product(asin: str, title: str, **changes: object) -> Product:
    plain = {"description": "", "bullets": (), "prices": (5.0,), "price_tag": "$5.0", "options": {}}
    plain |= {"query": "shorts", "category": "fashion", "product_category": "Men › Shorts"}
    return Product(**({"asin": asin, "title": title} | plain | changes))  # type: ignore[arg-type]


OPTIONS = {
    "color": ("navy | white", "black", "black2626"),
    "lining": ("black", "buy now", "", "grey [soft]"),
    "size": ("small", "x-small"),
}
CATALOGUE = MemoryCatalogue(
    [
        *(product(f"B0FILL{number:04d}", "ACME Shorts for men") for number in range(25)),
        product("B0SHORTS01", "ACME Shorts for men", options=OPTIONS, bullets=("", "Machine wash")),
    ]
)
SHOP, BETTER = Shop(CATALOGUE), Shop(CATALOGUE, FIXED)


def goal(**changes: object) -> Goal:
    plain = {"asin": "B0SHORTS01", "name": "ACME Shorts for men", "query": "shorts", "price_upper": 20.0}
    plain |= {"product_category": "Men › Shorts", "attributes": ("machine wash",)}
    plain |= {"instruction": "acme shorts, machine wash, x-small, and price lower than 20.00 dollars"}
    return Goal(**(plain | {"options": ("x-small",)} | changes))  # type: ignore[arg-type]


def played(name: str, wish: Goal, shop: Shop = SHOP):
    return play(shop, wish, BASELINES[name](shop, wish, Random(0)), lambda bought: bought.prices[0], nouns)


def test_an_instruction_without_its_price():
    assert wanted("i need shorts") == ("i need shorts", float("inf"))
    assert wanted("shorts, and price lower than 1000.00 dollars") == ("shorts", 1000.0)


def test_the_longest_value_that_is_named_and_none_that_is_not():
    assert named_options(OPTIONS, "a Black x-small one") == {
        "color": "black",
        "lining": "black",
        "size": "x-small",
    }
    assert named_options(OPTIONS, "one") == {}


def test_the_oracle_turns_pages_and_chooses_in_the_group_that_is_meant():
    wish = goal(options={"color": "black", "lining": "black", "size": "x-small"}, instruction="acme men")
    done = played("oracle", wish, BETTER)
    assert done.score == 1.0
    assert done.state.options == {"color": "black", "lining": "black", "size": "x-small"}
    assert done.state.number == 3


def test_what_cannot_be_clicked_is_left_out_and_a_button_is_none_of_the_values():
    wish = goal(options={"lining": "buy now", "size": "small", "color": "grey [soft]"})
    messages = oracle(SHOP, wish, Random(0))
    assert messages[-2:] == ["click[small]", "click[buy now]"]
    assert [message for message in messages if "grey" in message] == []
    fixed = played("oracle", goal(options=("grey [soft]", "small")), BETTER)
    assert fixed.state.options == {"lining": "grey [soft]", "size": "small"}
    named = played("oracle", goal(options={"lining": "buy now"}), BETTER)
    assert named.state.options == {"lining": "buy now"}


def test_values_that_somebody_wrote_down_are_chosen_where_one_is_alike():
    assert played("oracle", goal(options=("navy", "x-small", "huge"))).state.options == {
        "color": "navy | white",
        "size": "x-small",
    }


def test_where_the_instruction_finds_nothing_the_title_does():
    assert played("oracle", goal(instruction="the of")).score == 1.0
    assert [
        name for name in ("first_hit", "rule", "rule_page1") if played(name, goal(instruction="of")).earned
    ] == []


def test_rules_play_the_instruction():
    shop = Shop(MemoryCatalogue([CATALOGUE.products["B0SHORTS01"], product("B1", "ACME shorts machine")]))
    query = "search[acme shorts, machine wash, x-small]"
    hits = [offer.asin for offer in visited(shop, "acme shorts, machine wash, x-small").offers()]
    assert hits == ["B0SHORTS01", "B1"]
    assert first_hit(shop, goal(), Random(0)) == [query, "click[B0SHORTS01]", "click[buy now]"]
    assert rule(shop, goal(), Random(0))[2:] == ["click[x-small]", "click[buy now]"]
    opened = rule_page1(shop, goal(), Random(0))
    assert [message for message in opened if message.startswith("click[B")] == [
        *("click[B0SHORTS01]", "click[B1]"),
        "click[B0SHORTS01]",
    ]
    assert opened[-2:] == ["click[x-small]", "click[buy now]"]


def visited(shop: Shop, query: str) -> Visit:
    visit = Visit(shop)
    visit.search(query)
    return visit


@pytest.mark.parametrize("name", BASELINES)
def test_every_message_does_something_and_one_draw_is_one_episode(name):
    wish = goal(instruction="[shorts] 100% ]\nblack [")
    messages = BASELINES[name](SHOP, wish, Random(3))
    assert messages == BASELINES[name](SHOP, wish, Random(3))
    visit = Visit(SHOP)
    assert all(visit.say(message) for message in messages)
    assert (visit.state.page == "done") is (name != "do_nothing")


def test_a_random_product_is_any_one():
    draw = Random(0)
    titled = MemoryCatalogue([product(f"B{number}", f"shorts number{number}") for number in range(4)])
    bought = {random_product(Shop(titled), goal(), draw)[1] for _ in range(50)}
    assert bought == {f"click[B{number}]" for number in range(4)}


def test_a_price_is_what_nobody_pays_more_than():
    assert Offer("B1", "Shorts", "$9.98 to $1316.5").highest == 1316.5


def test_options_that_others_compare_as_pairs_are_out_of_reach_there_alone():
    wish = goal(options={"color": "black2626"})
    assert played("oracle", wish).score == pytest.approx(2 / 3)
    assert played("oracle", wish, Shop(CATALOGUE, replace(COMPAT, reward="fixed"))).score == 1.0
