"""A customer who reads, among near-duplicates of which one is right."""

from random import Random

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop.players.shopper import shop_around
from agentgym_envs.webshop.players.visit import Visit
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rules import COMPAT, FIXED
from agentgym_envs.webshop.shop import Shop

CARE, FACT = "that can go in the washing machine", "machine wash"
"""A paraphrase of the generator's, and what it stands for."""
WISH = f"i need a blouse {CARE}, in 2x wide, the color should be black, and price lower than 20.00 dollars"


def blouse(asin: str, *bullets: str, price: float = 15.0, sizes: tuple[str, ...] = ("small", "2x wide")):
    return Product(
        asin=asin,
        title="Abelor blouse",
        description="",
        bullets=("Imported", *bullets),
        prices=(price,),
        price_tag=f"${price}",
        options={"color": ("black", "red"), "size": sizes},
        query="blouse",
        category="fashion",
        product_category="a › b",
    )


WRONG = [blouse(f"B{number}", "Hand wash in a basin") for number in range(3)]
DEAR = blouse("B3", "Machine wash on cold", price=25.0)
SMALL = blouse("B4", "Machine wash on cold", sizes=("small",))
RIGHT = blouse("B5", "Machine wash on cold")
SOLD = [*WRONG, DEAR, SMALL, RIGHT]


def bought(messages: list[str], *sold: Product, rules=FIXED):
    visit = Visit(Shop(MemoryCatalogue(sold or SOLD), rules))
    assert all(visit.say(message) for message in messages)
    return visit.state


def shopped(*sold: Product, care: float = 1.0, turns: int = 40, seed: int = 0, wish: str = WISH, rules=FIXED):
    shop = Shop(MemoryCatalogue(sold or SOLD), rules)
    return shop_around(shop, wish, Random(seed), turns, care)


@pytest.mark.parametrize("rules", [COMPAT, FIXED], ids=["compat", "fixed"])
def test_it_compares_features_options_and_prices_until_all_is_right(rules):
    messages = shopped(rules=rules)
    assert messages[0] == "search[i need a blouse in 2x wide the color should be black]"
    assert "click[B3]" not in messages
    state = bought(messages, rules=rules)
    assert (state.page, state.asin) == ("done", "B5")
    assert state.options == {"color": "black", "size": "2x wide"}


def test_it_reads_no_features_where_an_option_is_missing_that_others_have():
    messages = shopped(WRONG[0], SMALL, RIGHT)
    opened = [message for message in messages if message.startswith("click[B")]
    assert messages.count("click[features]") == len(opened) - ("click[B4]" in opened)


def test_where_turns_end_it_buys_the_best_that_it_has_seen():
    for turns in range(1, 40):
        messages = shopped(*SOLD[:-1], turns=turns)
        state = bought(messages, *SOLD[:-1])
        assert len(messages) <= turns
        assert state.page == ("done" if turns >= 8 else "results")
    assert bought(shopped(*SOLD[:-1])).asin in {"B0", "B4"}


def test_the_best_may_be_on_an_earlier_page():
    others = [blouse(f"C{number:02}", "Dry clean at a store", sizes=("small",)) for number in range(12)]
    sold = WRONG[0], *others
    messages = shopped(*sold, turns=80)
    assert "click[next >]" in messages
    assert bought(messages, *sold).asin == "B0"
    assert bought(messages, *sold).page == "done"


def test_words_that_nobody_explained_are_compared_as_words():
    wish = "i need a blouse, for days at the beach, and price lower than 20.00 dollars"
    sold = blouse("B0", "Plain"), blouse("B1", "Good for beach days"), blouse("B2", "Plain")
    assert bought(shopped(*sold, wish=wish), *sold).asin == "B1"


def test_without_care_it_buys_the_first_hit_as_it_is():
    assert shopped(care=0.0) == ["search[i need a blouse]", "click[B4]", "click[buy now]"]


def test_a_shop_without_hits_sells_nothing():
    assert len(shopped(wish="the of")) == 1


def test_what_is_forgotten_is_a_matter_of_the_draw_alone():
    sets = [shopped(care=0.9, seed=seed) for seed in range(20)]
    assert sets == [shopped(care=0.9, seed=seed) for seed in range(20)]
    assert len({tuple(messages) for messages in sets}) > 10
    found = [bought(messages) for messages in sets]
    assert {state.page for state in found} == {"done"}
    assert {state.asin == "B5" and len(state.chosen) == 2 for state in found} == {True, False}


def test_an_option_may_be_named_before_the_first_comma():
    sold = WRONG[0], RIGHT
    wish = (
        "find me a machine wash blouse with color: red, and size: 2x wide, and price lower than 20.00 dollars"
    )
    state = bought(shopped(*sold, wish=wish), *sold)
    assert (state.asin, state.options) == ("B5", {"size": "2x wide", "color": "red"})
    assert len(shopped(*sold, wish=wish, turns=7)) <= 7
