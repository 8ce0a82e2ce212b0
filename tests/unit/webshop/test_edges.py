"""Catalogues and messages as they should not be, and are: what the shop does about each."""

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.webshop import pages
from agentgym_envs.webshop.nouns import nouns
from agentgym_envs.webshop.products import Product, cleaned
from agentgym_envs.webshop.rewards import Goal, earned
from agentgym_envs.webshop.rules import FIXED
from agentgym_envs.webshop.shop import Shop
from agentgym_envs.webshop.state import State

VALUES = (
    " A/B ",
    "x/",
    '28" x 28"',
    "men's",
    "r&d",
    "<8",
    "a [b]",
    "[x",
    "x]",
    "é",
    "",
    "Buy Now",
    "a\u2028b",
)


def row(asin: str, name: str, **changes: object) -> dict[str, object]:
    plain = {"asin": asin, "name": name, "full_description": "", "small_description": [], "pricing": "$5"}
    plain |= {"customization_options": "", "query": "q", "category": "c", "product_category": "a › b"}
    return plain | changes


SOLD = MemoryCatalogue(
    cleaned(
        [
            row("B0DIRTY", "dirty", customization_options={"Kind": [{"value": value} for value in VALUES]}),
            row("B0TWICE", "twice", customization_options={"a": [{"value": "x"}, {"value": "x"}], "b": None}),
            row("B0BLANK", " \t", full_description="blank", small_description=[""]),
            row("B0LINES", "\n", full_description="lines"),
            row("B0CHEAP", "cheap", pricing="$1,299.00 - $2,000.50"),
            row("B0NOISE", "noise", pricing="from $7.5 USD, was $9 or $10"),
            *(row(f"B{number}", f"plain sock {number}") for number in range(25)),
        ]
    )
)
SHOP, BETTER = Shop(SOLD), Shop(SOLD, FIXED)


def after(*messages: str, shop: Shop = SHOP) -> State:
    state = State()
    for message in messages:
        moved = shop.step(state, message)
        assert moved is not None, message
        state = moved
    return state


def goal(**changes: object) -> Goal:
    plain = {"asin": "B1", "name": "plain sock 1", "query": "q", "product_category": "a › b"}
    plain |= {"instruction": "", "attributes": ("plain",), "options": (), "price_upper": 10.0}
    return Goal(**(plain | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize("shop", [SHOP, BETTER], ids=["compat", "fixed"])
@pytest.mark.parametrize(
    "query", ["the of and", " ", "  the  ", "!!!", "\u00a0", "🙈", "%00", "\x00", "' OR ''='"]
)
def test_searches_for_nothing_find_nothing(shop: Shop, query: str):
    state = shop.step(State(), f"search[{query}]")
    assert state is not None
    assert (list(shop.hits(state)), state.page) == ([], "results")
    told = "Instruction: [SEP] buy [SEP] Back to Search [SEP] Page 1 (Total results: 0) [SEP] Next >"
    assert pages.plain(shop, state, "buy") == told
    assert list(shop.clickables(state)) == ["back to search", "next >"]


def test_long_searches_are_searches():
    thousand = after(f"search[{'plain ' * 999}sock]")
    assert len(thousand.keywords) == 1000
    assert len(SHOP.hits(thousand)) == 25
    huge = after(f"search[{'x' * 100_000} sock]")
    assert len(SHOP.hits(huge)) == 25
    words = after(f"search[{' '.join(f'word{number}' for number in range(20_000))} sock]")
    assert len(SHOP.hits(words)) == 25


ITEM = ("search[dirty]", "click[b0dirty]")


@pytest.mark.parametrize(
    "way",
    [
        ("search[cheap]",),
        ITEM,
        (*ITEM, "click[features]"),
        (*ITEM, "click[men's]", "click[description]"),
        (*ITEM, "click[buy now]"),
    ],
    ids=["results", "item", "features", "description", "done"],
)
def test_a_search_begins_anew_from_every_page(way):
    state = after(*way, "search[plain sock]")
    assert (state.page, state.number, state.asin, state.part, state.chosen) == ("results", 1, "", "", ())
    assert state.visited == after(*way).visited
    assert SHOP.step(State(page="done", asin="B1"), "search[x]") is not None
    assert BETTER.step(State(page="done", asin="B1"), "search[x]") is None


def test_pages_go_on_and_come_back():
    second = after("search[plain sock]", "click[next >]")
    assert list(SHOP.clickables(second))[:3] == ["back to search", "< prev", "next >"]
    assert SHOP.step(second, "click[< prev]") == after("search[plain sock]")
    assert SHOP.step(after("search[plain sock]"), "click[< prev]") is None
    beyond = after("search[plain sock]", *["click[next >]"] * 40)
    assert (beyond.number, SHOP.shown(beyond)) == (41, [])


@pytest.mark.parametrize(
    ("clicked", "chosen"),
    [
        ("a | b", "a | b"),
        ("x | ", "x | "),
        ('28" x 28"', '28" x 28"'),
        ("MEN'S", "men's"),
        ("r&d", "r&d"),
        ("<8", "<8"),
        ("é", "é"),
        ("x]", "x]"),
    ],
)
def test_values_with_signs_can_be_chosen(clicked, chosen):
    for shop in (SHOP, BETTER):
        assert after(*ITEM, f"click[{clicked}]", shop=shop).options == {"kind": chosen}


def test_some_values_are_out_of_reach_of_the_original_parser_and_some_of_every_one():
    item = after(*ITEM)
    assert {"a [b]", "[x", "", "a\u2028b"} < set(SHOP.clickables(item))
    assert [SHOP.step(item, f"click[{value}]") for value in ("a [b]", "[x", "", "x |", " men's")] == [
        None
    ] * 5
    for value in ("a [b]", "[x"):
        state = BETTER.step(item, f"click[{value}]")
        assert state is not None
        assert state.options == {"kind": value}
    assert BETTER.step(item, "click[]") is None
    for shop in (SHOP, BETTER):  # a value is no way around its button, nor the button one to it
        bought = shop.step(item, "click[buy now]")
        assert bought is not None
        assert (bought.page, bought.options) == ("done", {})


def test_signs_in_values_are_shown_as_they_are_and_their_choice_is_told_where_it_was():
    item = after(*ITEM, "click[men's]")
    assert 'kind [SEP] a | b [SEP] x | [SEP] 28" x 28" [SEP] men\'s [SEP] r&d [SEP] <8' in pages.plain(
        SHOP, item, "buy"
    )
    told = pages.rich(SHOP, item, "buy", "7")
    assert told.startswith("You have clicked men's.\n")
    assert "  [clicked button] men's [clicked button_]\n" in told
    for value in ('28" x 28"', "é"):  # escaped in the address, in which the original looks for what is chosen
        assert "You have clicked" not in pages.rich(SHOP, after(*ITEM, f"click[{value}]"), "buy", "7")


def test_equal_values_of_one_group_are_one_button():
    item = after("search[twice]", "click[b0twice]")
    assert list(SHOP.clickables(item))[-2:] == ["buy now", "x"]
    assert "a [SEP] x [SEP] x [SEP] twice" in pages.plain(SHOP, item, "buy")
    assert after("search[twice]", "click[b0twice]", "click[x]", "click[x]").chosen == (("a", "x"),)


def test_titles_of_white_space():
    assert "B0BLANK [SEP]  [SEP] $5.0" in pages.plain(SHOP, after("search[blank]"), "buy")
    assert pages.plain(SHOP, after("search[lines]"), "buy").endswith("B0LINES [SEP] $5.0")


def test_prices_are_read_from_what_catalogues_say():
    cheap, noise = (SOLD.products[asin] for asin in ("B0CHEAP", "B0NOISE"))
    assert (cheap.price_tag, cheap.prices) == ("$1299.0 to $2000.5", (1299.0, 2000.5))
    assert (noise.price_tag, noise.prices) == ("$7.5 to $9.0", (7.5, 9.0))


def test_nothing_has_to_be_chosen_for_a_purchase():
    bought = after("search[twice]", "click[b0twice]", "click[buy now]")
    assert (bought.page, bought.chosen) == ("done", ())
    assert "options [SEP] {} [SEP] attrs" in pages.plain(SHOP, bought, "buy")
    wish = goal(name="twice", options=("x",), attributes=("twice",))
    product: Product = SOLD.products["B0TWICE"]
    assert earned(wish, product, (), 5.0, nouns).total == pytest.approx(2 / 3)
    assert earned(wish, product, ("x",), 5.0, nouns).total == 1.0


@pytest.mark.parametrize("shop", [SHOP, BETTER], ids=["compat", "fixed"])
@pytest.mark.parametrize(
    "message",
    [
        "",
        "\n",
        "click[]",
        "search[]",
        "[" * 10_000,
        "]" * 10_000,
        "click[" * 5_000,
        "search[a\nb]",
        "a" * 100_000,
        "click[b0dirty]",
        "\ud800",
    ],
)
def test_messages_that_mean_nothing_here_change_nothing(shop: Shop, message: str):
    assert shop.step(State(), message) is None


def test_states_are_values_so_that_episodes_do_not_meet():
    one, other = after(*ITEM, "click[men's]"), after(*ITEM, "click[men's]")
    assert one == other
    assert SHOP.step(one, "click[back to search]") == State()
    assert one == other
