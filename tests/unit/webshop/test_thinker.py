"""A customer who thinks aloud: what it says is on the page, and what it does follows from what it said."""

from random import Random

import pytest
from support.webshop import MemoryCatalogue

from agentgym_envs.formats import after_thinking
from agentgym_envs.webshop import WebShop
from agentgym_envs.webshop.players.thinker import think_aloud
from agentgym_envs.webshop.players.visit import Visit
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rules import FIXED
from agentgym_envs.webshop.shop import Shop

WISH = "i need a blouse labeled machine wash, in red, and price lower than 20.00 dollars"
SEARCH = "search[ i need a blouse labeled machine wash, in red]"


def blouse(asin: str, *bullets: str, price: float = 15.0) -> Product:
    return Product(
        asin=asin,
        title="Abelor blouse",
        description="",
        bullets=("Imported", *bullets),
        prices=(price,),
        price_tag=f"${price}",
        options={"color": ("black", "red")},
        query="blouse",
        category="fashion",
        product_category="a › b",
    )


def shop(*sold: Product) -> Shop:
    return Shop(MemoryCatalogue(sold), FIXED)


def said(*sold: Product, care: float = 1.0, turns: int = 20, seed: int = 0, wish: str = WISH) -> list[str]:
    return think_aloud(shop(*sold), wish, Random(seed), turns, care)


def bought(messages: list[str], *sold: Product) -> tuple[str, dict[str, str]]:
    visit = Visit(shop(*sold))
    assert all(visit.say(after_thinking(message)) for message in messages)
    assert visit.state.page == "done"
    return visit.state.asin, dict(visit.state.options)


DEAR, PLAIN = blouse("B0", price=25.0), blouse("B1", "Hand wash in a basin")
RIGHT = blouse("B2", "Now: Machine wash on cold", "Soft")


def test_a_thought_quotes_what_decides_and_the_action_follows():
    assert said(DEAR, PLAIN, RIGHT) == [
        SEARCH,
        "<think> b0 $25.0 of 20.00 no b1 $15.0 of 20.00</think>click[B1]",
        "click[features]",
        f"<think> machine wash no</think>{SEARCH}",
        "<think> b1 no b2 $15.0 of 20.00</think>click[B2]",
        "click[features]",
        "<think> machine wash on cold.</think>click[< prev]",
        "click[red]",
        "click[buy now]",
    ]


def test_facts_in_other_words_are_thought_of_in_the_sellers():
    wish = "i need a blouse that can go in the washing machine, in red, and price lower than 20.00 dollars"
    assert "<think> machine wash on cold.</think>click[< prev]" in said(RIGHT, wish=wish)


def test_what_is_bought_is_what_the_thoughts_found():
    assert bought(said(DEAR, PLAIN, RIGHT), DEAR, PLAIN, RIGHT) == ("B2", {"color": "red"})


def test_five_prices_at_a_time_and_where_none_fits_the_page_is_turned():
    dear = [blouse(f"B{number:02}", price=25.0) for number in range(12)]
    messages = said(*dear)
    thoughts = " ".join(f"b{number:02} $25.0 of 20.00 no" for number in range(5))
    assert messages[:2] == [SEARCH, f"<think> {thoughts}</think>click[next >]"]
    assert all("buy now" not in message for message in messages)


def test_a_wish_without_a_price_is_compared_with_none():
    assert said(DEAR, RIGHT, wish="i need a blouse labeled machine wash, in red")[1] == "click[B0]"


def test_without_care_it_neither_thinks_nor_looks():
    assert said(DEAR, PLAIN, RIGHT, care=0.0) == [SEARCH, "click[B0]", "click[buy now]"]


def test_where_turns_end_it_buys_the_best_that_it_has_seen():
    wrong = [blouse(f"B{number:02}", "Hand wash in a basin") for number in range(9)]
    for turns in range(1, 30):
        messages = said(*wrong, turns=turns)
        assert len(messages) <= turns
        assert (messages[-1] == "click[buy now]") == (turns >= 7)
        assert "think" not in messages[-1]


@pytest.fixture(scope="module")
def world() -> WebShop:
    return WebShop()


@pytest.mark.parametrize("level", ["small", "medium", "large"])
def test_every_message_of_a_generated_shop_is_an_action_that_works(world: WebShop, level: str):
    for seed, task in enumerate(world.tasks("train", level)[:20]):
        world.reset(task, seed=0)
        messages = world.demonstrate(task, seed, 0.8)
        results = [world.step(after_thinking(message)) for message in messages]
        assert not any("invalid_action" in result.info for result in results)
        assert world.demonstrate(task, seed, 0.8) == messages


def test_what_a_thought_quotes_stands_on_the_page_that_was_read(world: WebShop):
    for seed, task in enumerate(world.tasks("train", "small")[:20]):
        page = world.reset(task, seed=0).text
        for message in world.demonstrate(task, seed):
            quoted = message.partition("</think>")[0].removeprefix("<think> ") if "<think>" in message else ""
            for words in quoted.replace(" no", "").replace(" of ", " ").replace(".", ". ").split():
                assert words.strip(".") in page.lower()
            page = world.step(after_thinking(message)).observation.text
