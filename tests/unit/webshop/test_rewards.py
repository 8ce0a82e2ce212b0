"""What purchases earn, by hand."""

import pytest

from agentgym_envs.webshop.colors import COLORS, normalized
from agentgym_envs.webshop.nouns import nouns
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal, earned, ratio

SHORTS = Product(
    asin="B1",
    title="ACME Men's Shorts",
    description="Light.",
    bullets=("Imported", "Machine Wash"),
    prices=(20.0,),
    price_tag="$20.0",
    options={},
    query="shorts",
    category="fashion",
    product_category="Clothing › Men › Shorts",
    attributes=("quick drying",),
)


def goal(**changes: object) -> Goal:
    plain = {"asin": "B1", "name": SHORTS.title, "query": "shorts", "instruction": "", "price_upper": 20.0}
    plain |= {"product_category": SHORTS.product_category, "attributes": ("machine wash",), "options": ()}
    return Goal(**(plain | changes))  # type: ignore[arg-type]


def buy(wanted: Goal, *chosen: str, matching="upstream", product: Product = SHORTS):
    return earned(wanted, product, chosen, 20.0, nouns, matching)


def test_a_perfect_purchase_earns_one_and_a_price_that_is_equal_is_kept():
    assert buy(goal()).total == 1.0
    assert buy(goal(price_upper=19.99)).total == 0.5
    assert buy(goal(attributes=("machine wash", "quick dry", "waterproof"))).attributes == 2


def test_what_is_chosen_counts_whatever_group_it_is_of():
    wanted = goal(options=("small", "black"))
    assert buy(wanted, "x-small").total == 0.75  # lax as the original: a word is enough
    assert buy(wanted, "x-small", "washed black").options == 1  # which is `ash` there
    assert buy(wanted, "small", "pitch black").total == 1.0
    assert buy(wanted).weights == {"w_att": 0.25, "w_option": 0.5, "w_price": 0.25}


def test_named_options_can_be_out_of_reach_in_the_original_and_are_not_when_fixed():
    wanted = goal(options={"color": "black2626"})
    assert buy(wanted, "black2626").options == 0
    assert buy(wanted, "black2626", matching="fixed").total == 1.0
    assert buy(goal(options={"color": "black"}), "black").options == 1
    assert buy(goal(options={"size": "small"}), "small").options == 1


@pytest.mark.parametrize(
    ("changes", "r_type"),
    [
        ({"query": "tables"}, 1.0),  # the path is the same
        ({"query": "tables", "product_category": "Home › Tables"}, 1.0),  # the title is
        ({"name": "ACME lamp oil can tin box", "query": "tables", "product_category": "Home"}, 0.5),
        ({"name": "ACME " + " ".join(f"lamp{n}" for n in range(11))}, 0.1),
        ({"name": "Lamp"}, 0.0),
    ],
)
def test_the_type_of_a_product(changes, r_type):
    assert buy(goal(**changes)).r_type == r_type


def test_a_title_without_nouns_is_neither_like_nor_unlike():
    assert buy(goal(name="the of")).title_score == 0.2


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("x-small", "small", 100),
        ("machine washable", "machine wash", 86),
        ("('size', 'small')", "x-small", 83),
        ("easy clean", "easy to clean", 100),
        ("('size', 'small')", "small", 100),
        ("8 wide", "8", 100),
        ("('color', 'black2626')", "black", 50),
        ("3 ounce (pack of 1)", "3 ounce (pack of 2)", 94),
        ("tan", "standard", 55),
        ("café", "caf", 100),
        ("", "caf", 0),
    ],
)
def test_how_alike_texts_are(one, other, found):
    assert ratio(one, other) == found


def test_colors_swallow_what_contains_them():
    assert len(COLORS) == len(set(COLORS))
    assert [normalized(text) for text in ("standard", "washed", "dark blue", "xl")] == [
        "tan",
        "ash",
        "blue",
        "xl",
    ]
