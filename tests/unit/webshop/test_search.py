"""WebShop's search engine: words, stems and scores whose values were worked out elsewhere."""

import sys
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentgym_envs.search.analyzer import STOP_WORDS, analyzed
from agentgym_envs.search.bm25 import Index, decoded_length
from agentgym_envs.search.tokenizer import words
from agentgym_envs.webshop.products import cleaned, product

DOCUMENTS = {
    "A1": "acme men's running shorts, quick-dry, 2-pack blue shorts",
    "A2": "acme women's running shoes size 8.5 wide",
    "A3": "console table in solid wood for living room",
    "A4": "acme women's running shoes size 8.5 wide",
}


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("description:solid", "description:solid"),
        ("wi-fi 802.11ac", "wi fi 802.11ac"),
        ("3.5mm 1,000", "3.5mm 1,000"),
        ("d.o.n. u.s.a.", "d.o.n u.s.a"),
        ("foo_bar ___", "foo_bar"),
        ("men’s women's dogs'", "men women dog"),
        ('18"x18"', "18 x18"),
        ("usb-c to hdmi 4k@60hz", "usb c hdmi 4k 60hz"),
        ("analogies psychologically possibly relational", "analog psycholog possibl relat"),
        ("sky skies dies ties", "sky ski di ti"),
        ("naïve café", "naïv café"),
        ("½ inch", "inch"),
        ("l'oreal", "l'oreal"),
        ("the of", ""),
        ("日本 カタカナ ひら", "日 本 カタカナ ひ ら"),
        ("❤️ 👩‍👩‍👧 ☆", "❤️ 👩‍👩‍👧"),
        ("ヽ(✿ﾟ▽ﾟ)ノ ﾊﾟﾝ", "ヽ ノ ﾊﾟﾝ"),  # half-width marks are no words, and extend letters
    ],
)
def test_terms_are_those_of_lucene(text: str, terms: str):
    assert analyzed(text) == terms.split()


def test_a_full_width_colon_joins_letters_and_parts_numbers():
    assert words("a\uff1ab 5\uff1a30") == ["a\uff1ab", "5", "30"]


def test_a_long_word_is_cut_and_nothing_of_it_is_lost():
    assert [len(word) for word in words(f"{'x' * 600} {'y' * 255}")] == [255, 255, 90, 255]


@given(
    st.lists(st.sampled_from([*"aZ5_y日かカ'’.:, \u3000\u2028\u0301\u200d😀🇩", "men's", "the"])).map("".join)
)
@example("😀\u200d \u200d😀 \u0301a")
def test_no_word_reaches_over_white_space(text: str):
    apart = [term for piece in text.split() for term in analyzed(piece)]
    whole = [term for word in words(text) for term in analyzed(word)]
    assert analyzed(text) == apart == whole


def test_no_white_space_is_part_of_a_word():
    spaces = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    assert [
        space for space in spaces if words(f"a{space}b") != ["a", "b"] or words(f"a{space}\u0301")[1:]
    ] == []


@pytest.mark.parametrize(
    "text",
    [
        "a" + "\u0301" * 300_000,
        " ".join(f"{number}{'y' * 240}ement" for number in range(1200)),
        "\U0001f469\u200d" * 150_000,
        "a." * 150_000,
        " ".join(sorted(STOP_WORDS) * 2000),
    ],
    ids=["marks", "y", "joiners", "dots", "stop words"],
)
def test_a_hostile_text_takes_no_longer_than_its_length(text: str):
    began = time.process_time()
    analyzed(text)
    assert time.process_time() - began < 2  # seconds; a tenth is what it takes


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("running shorts", [("A1", 0.973905), ("A2", 0.190125), ("A4", 0.190125)]),
        ("women's running shoes", [("A2", 0.929088), ("A4", 0.929088), ("A1", 0.176572)]),
        ("shorts shorts blue", [("A1", 2.190692)]),
        ("the of", []),
        ("unheard", []),
    ],
)
def test_scores_are_those_of_lucene_and_ties_are_in_the_order_of_ids(query, hits):
    expected = [(name, pytest.approx(score, abs=1e-6)) for name, score in hits]
    for texts in (DOCUMENTS, dict(reversed(DOCUMENTS.items()))):
        assert Index.of(texts).search(query) == expected


def test_documents_without_terms_do_not_count():
    with_empty = Index.of(DOCUMENTS | {"A0": "the of", "B": ""})
    assert with_empty.search("running shorts") == Index.of(DOCUMENTS).search("running shorts")


def test_lengths_lose_what_one_byte_cannot_hold():
    lengths = (0, 23, 24, 40, 41, 55, 57, 60, 107, 200, 1000)
    assert [decoded_length(length) for length in lengths] == [0, 23, 24, 40, 40, 54, 56, 60, 104, 200, 984]


def row(**changes: object) -> dict[str, object]:
    plain = {
        "asin": "B0",
        "name": "Shorts",
        "full_description": "Light.",
        "small_description": ["One", "Two"],
    }
    plain |= {"pricing": "$12.99", "customization_options": "", "query": "shorts", "category": "fashion"}
    return plain | {"product_category": "Men › Shorts"} | changes


@pytest.mark.parametrize(
    ("pricing", "tag", "prices"),
    [
        ("$12.99", "$12.99", (12.99,)),
        ("$10", "$10.0", (10.0,)),
        ("$9.98 - $16.98", "$9.98 to $16.98", (9.98, 16.98)),
        ("$1,299.00", "$1299.0", (1299.0,)),
        ("", "$100.0", (100.0,)),
        (None, "$100.0", (100.0,)),
    ],
)
def test_prices(pricing, tag, prices):
    made = product(row(pricing=pricing))
    assert (made.price_tag, made.prices) == (tag, prices)


def test_a_product_is_found_by_title_description_first_bullet_and_options():
    color = [{"value": " Navy/White "}, {"value": "Black"}]
    options = {"Color": color, "Size": None, "Fit": [{"value": "a/"}]}
    made = product(row(customization_options=options, small_description="Imported"))
    assert made.bullets == ("Imported",)
    assert made.index_text == "shorts light. imported color: navy | white, black, and fit: a | "


def test_products_need_an_id_of_their_own():
    rows = [row(), row(name="again"), row(asin="nan"), row(asin="B" * 11), row(asin="B1")]
    assert [(made.asin, made.title) for made in cleaned(rows)] == [("B0", "Shorts"), ("B1", "Shorts")]
