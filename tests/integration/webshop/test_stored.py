"""Catalogues on disk: what is read back, what is refused, and searches equal to the plain ones bit by bit."""

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.webshop import MemoryCatalogue

from agentgym_envs.search import building, ranking
from agentgym_envs.search.analyzer import analyzed
from agentgym_envs.search.bm25 import Index, decoded_length
from agentgym_envs.webshop import nouns
from agentgym_envs.webshop.catalogues.manifest import FILE
from agentgym_envs.webshop.catalogues.stored import About, CatalogueError, StoredCatalogue, damage, write
from agentgym_envs.webshop.products import Product
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.wishes import Wish

ABOUT = About(name="test", nouns=nouns.NAME, settings={"prices": "first"})


def product(asin: str, **changes: object) -> Product:
    plain = Product(
        asin=asin,
        title=f"ACME Men's Shorts {asin}",
        description="",
        bullets=("Imported", 'Café – 28" x 28"'),
        prices=(9.98, 16.98),
        price_tag="$9.98 to $16.98",
        options={"color": ("navy | white", "black", "black"), "size": ()},
        query="men's shorts",
        category="fashion",
        product_category="Clothing › Men › Shorts",
        attributes=("machine wash",),
    )
    return replace(plain, **changes)


def goal(asin: str, **changes: object) -> Goal:
    plain = Goal(asin, "Shorts", "shorts", "Men › Shorts", "find shorts", ("quick",), ("black",), 30.0, 0.5)
    return replace(plain, **changes)


PRODUCTS = [
    product("B2"),
    product("B1", title="", bullets=(), options={}, query="", prices=(100.0,)),
    product("é\ud800", title="a 'lone' \ud800 half", category="beauty", attributes=()),
    product("A\0B", query="tables"),
    product("A"),
]
WISHES = [
    Wish(goal("A"), "9", "train", "easy", "f1"),
    Wish(goal("B2", options={"size": "x"}, price_upper=1000000.0), "10", "test"),
    Wish(goal("B1", options=(), attributes=()), "é", "train"),
]


def price(one: Product) -> float:
    return one.prices[0] + 0.1


@pytest.fixture
def stored(tmp_path: Path) -> StoredCatalogue:
    return write(tmp_path / "made", ABOUT, iter(PRODUCTS), price, {"own": WISHES, "none": []})


def test_what_was_written_is_read_back(stored: StoredCatalogue):
    assert list(stored.products.items()) == [(one.asin, one) for one in PRODUCTS]
    assert len(stored.products) == len(PRODUCTS)
    assert [stored.price(one.asin) for one in PRODUCTS] == [price(one) for one in PRODUCTS]
    assert [stored.nouns_of(one.asin) for one in PRODUCTS] == [
        tuple(nouns.nouns(one.title)) for one in PRODUCTS
    ]
    assert (stored.about, stored.goal_sets) == (ABOUT, ("own", "none"))
    assert list(stored.wishes("own")) == WISHES
    assert stored.wishes("own")[-2:] == WISHES[-2:]
    assert (len(stored.wishes("none")), stored.wishes("none").splits) == (0, {})
    assert damage(stored.folder) == []


def test_goals_are_found_by_id_and_split(stored: StoredCatalogue):
    wishes = stored.wishes("own")
    assert [wishes.find(wish.id) for wish in WISHES] == [0, 1, 2]
    assert {split: list(places) for split, places in wishes.splits.items()} == {"test": [1], "train": [0, 2]}
    for unknown in ("", "8", "99", "é\0"):
        with pytest.raises(LookupError):
            wishes.find(unknown)
    with pytest.raises(LookupError, match="own, none"):
        stored.wishes("other")
    with pytest.raises(IndexError):
        wishes[3]


@pytest.mark.parametrize("asin", ["", "B", "B22", "B2\0", "A\0", "A\0B\0", "\uffff" * 9, "z", "\udfff"])
def test_unknown_ids_are_not_there(stored: StoredCatalogue, asin: str):
    assert asin not in stored.products
    with pytest.raises(KeyError):
        stored.price(asin)


def test_labels_and_searches_are_those_of_memory(stored: StoredCatalogue):
    memory = MemoryCatalogue(PRODUCTS)
    for kind in ("query", "category"):
        for label in ("men's shorts", "", "tables", "fashion", "beauty", "unknown", "fashio"):
            found, expected = stored.labelled(kind, label), memory.labelled(kind, label)
            assert (list(found), found[1:3], len(found)) == (expected, expected[1:3], len(expected))
    for text in ("acme shorts", "black a", "imported", "half", "the of", "", "nothing"):
        assert stored.search(text) == memory.search(text)


def test_a_catalogue_is_the_same_however_often_and_by_however_many_it_is_made(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(building, "_BLOCK", 7)
    one = write(tmp_path / "one", ABOUT, PRODUCTS, price, {"own": WISHES})
    monkeypatch.undo()
    prices = {each.asin: price(each) for each in PRODUCTS}
    two = write(tmp_path / "two", ABOUT, PRODUCTS, prices, {"own": WISHES}, processes=2)
    other = write(tmp_path / "other", ABOUT, PRODUCTS, lambda each: price(each) + 1, {"own": WISHES})
    assert one.digest == two.digest != other.digest
    assert two.digest != write(tmp_path / "two", ABOUT, PRODUCTS[::-1], prices, {"own": WISHES}).digest


def test_one_that_fails_leaves_the_one_before_and_nothing_else(stored: StoredCatalogue):
    def broken():
        yield from PRODUCTS
        raise RuntimeError("the source ended")

    with pytest.raises(RuntimeError):
        write(stored.folder, ABOUT, broken(), price, {})
    assert damage(stored.folder) == []
    assert list(stored.folder.parent.iterdir()) == [stored.folder]
    new = write(stored.folder, ABOUT, PRODUCTS[:1], price, {})
    assert (list(new.products), len(list(stored.products.items()))) == (["B2"], len(PRODUCTS))
    assert list(stored.folder.parent.iterdir()) == [stored.folder]


@pytest.mark.parametrize(
    ("products", "wishes", "told"),
    [
        ([], [], "there are none"),
        ([PRODUCTS[0], product("C"), product("B2")], [], "two products have the id B2"),
        ([product("B\0")], [], "zero byte"),
        (PRODUCTS, [WISHES[0], WISHES[0]], "same id"),
        (PRODUCTS[:2], WISHES, "goal 9 is of A, which is not in the catalogue"),
    ],
)
def test_what_is_no_catalogue_is_not_written(tmp_path: Path, products, wishes, told):
    with pytest.raises(CatalogueError, match=told):
        write(tmp_path / "made", ABOUT, products, price, {"own": wishes})
    assert list(tmp_path.iterdir()) == []


def test_other_prices_nouns_and_folders_are_refused(tmp_path: Path):
    with pytest.raises(CatalogueError, match="B1 has no price"):
        write(tmp_path / "made", ABOUT, PRODUCTS, {"B2": 1.0}, {})
    with pytest.raises(CatalogueError, match="spacy"):
        write(tmp_path / "made", About(name="test", nouns="spacy", settings={}), PRODUCTS, price, {})
    (tmp_path / "letter").write_text("mine")
    with pytest.raises(CatalogueError, match="other files"):
        write(tmp_path, ABOUT, PRODUCTS, price, {})
    assert [path.name for path in tmp_path.iterdir()] == ["letter"]


def test_a_damaged_catalogue_is_refused_in_one_line(stored: StoredCatalogue):
    def refused() -> str:
        with pytest.raises(CatalogueError) as told:
            StoredCatalogue.open(stored.folder)
        assert "\n" not in str(told.value)
        assert damage(stored.folder) == [str(told.value)]
        return str(told.value)

    manifest, blob = stored.folder / FILE, stored.folder / "products.blob"
    text, data = manifest.read_text(), blob.read_bytes()
    blob.write_bytes(data[:-1])
    assert "products.blob is" in refused()
    blob.unlink()
    assert "products.blob is missing" in refused()
    blob.write_bytes(data)
    manifest.write_text(text[:-20])
    assert "damaged" in refused()
    manifest.write_text(text.replace("|u1", "|O1"))
    assert "damaged" in refused()
    manifest.write_text(text.replace("webshop-catalogue-", "webshop-catalogue-0"))
    assert "build it again" in refused()
    shutil.rmtree(stored.folder)
    assert "no catalogue" in refused()


def test_a_changed_byte_is_found_and_a_damaged_record_named(stored: StoredCatalogue):
    blob = stored.folder / "products.blob"
    data = bytearray(blob.read_bytes())
    data[0] ^= 0xFF
    blob.write_bytes(data)
    assert damage(stored.folder) == [f"{blob} is damaged"]
    with pytest.raises(CatalogueError, match="record 0"):
        StoredCatalogue.open(stored.folder).products["B2"]


def test_a_manifest_that_names_too_little_is_refused(stored: StoredCatalogue):
    manifest = stored.folder / FILE
    told = json.loads(manifest.read_text())
    del told["files"]["asins"]
    manifest.write_text(json.dumps(told))
    with pytest.raises(CatalogueError, match="does not name asins"):
        StoredCatalogue.open(stored.folder)


def test_several_processes_read_one_folder(stored: StoredCatalogue):
    program = (
        "import sys; from pathlib import Path;"
        "from agentgym_envs.webshop.catalogues.stored import StoredCatalogue;"
        "made = StoredCatalogue.open(Path(sys.argv[1])); print(made.digest, *made.search('acme'))"
    )
    command = [sys.executable, "-c", program, str(stored.folder)]
    told = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert told == {" ".join([stored.digest, *stored.search("acme")]) + "\n"}


WORDS = [f"w{number}" for number in range(12)]
"""The first ones are in most texts."""


def texts(count: int, seed: int) -> dict[str, str]:
    draw = random.Random(seed)
    weights = [1 / (1 + place) for place in range(len(WORDS))]
    sizes = [draw.choice((0, 1, 2, 5, 5, 5, 60)) for _ in range(count)]
    return {
        f"D{place:04d}": " ".join(draw.choices(WORDS, weights, k=size)) for place, size in enumerate(sizes)
    }


def by_formula(documents: dict[str, str], query: str, most: int) -> list[tuple[str, float]]:
    """One document after another, as `bm25` writes it."""
    one, k1, b = np.float32(1), np.float32(0.9), np.float32(0.4)
    found = {name: Counter(analyzed(text)) for name, text in documents.items()}
    lengths = {name: terms.total() for name, terms in found.items() if terms}
    average = np.float32(sum(lengths.values()) / max(1, len(lengths)))
    sums = dict.fromkeys(lengths, 0.0)
    for term, times in Counter(analyzed(query)).items():
        having = sum(term in terms for terms in found.values())
        idf = np.float32(np.log(1 + (len(lengths) - having + 0.5) / (having + 0.5)))
        weight = idf * np.float32(times)
        for name, length in lengths.items():
            count = np.float32(found[name][term])
            saturated = one / (k1 * ((one - b) + b * np.float32(decoded_length(length)) / average))
            sums[name] += float(weight - weight / (one + count * saturated)) if count else 0.0
    scores = [(name, float(np.float32(total))) for name, total in sums.items() if np.float32(total) > 0]
    return sorted(scores, key=lambda hit: (-hit[1], hit[0]))[:most]


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(1, 300),
    seed=st.integers(0, 10**6),
    query=st.lists(st.sampled_from([*WORDS, "unheard", "the"]), max_size=14),
    most=st.sampled_from([1, 3, 10, 50]),
)
def test_searches_equal_the_formula_bit_by_bit_with_and_without_leaving_out(
    tmp_path_factory, count: int, seed: int, query: list[str], most: int
):
    documents = texts(count, seed)
    things = [product(name, title=text, bullets=(), options={}) for name, text in documents.items()]
    random.Random(seed).shuffle(things)
    made = write(tmp_path_factory.mktemp("made") / "made", ABOUT, things, price, {})
    names = sorted(documents)
    text = " ".join(query)
    expected = by_formula(documents, text, most)
    assert Index.of(documents).search(text, most) == expected
    with pytest.MonkeyPatch.context() as patch:
        for plain in (ranking.PLAIN, 0):
            patch.setattr(ranking, "PLAIN", plain)
            assert [(names[place], score) for place, score in made.index.search(text, most)] == expected


def test_frequent_terms_are_left_out_where_they_cannot_matter(tmp_path: Path, monkeypatch):
    documents = texts(3000, 1) | {"E": "rare w0", "F": "rare w1 w1"}
    things = [product(name, title=text, bullets=(), options={}) for name, text in documents.items()]
    made = write(tmp_path / "made", ABOUT, things, price, {})
    monkeypatch.setattr(ranking, "PLAIN", 0)
    added = []
    whole = ranking.Term.add
    monkeypatch.setattr(
        ranking.Term, "add", lambda self, *a: added.append(len(self.documents)) or whole(self, *a)
    )
    hits = [(sorted(documents)[place], score) for place, score in made.index.search("w0 rare w1", 1)]
    assert hits == Index.of(documents).search("w0 rare w1", 1)
    assert added == [2]


def test_counts_above_a_byte_are_kept(tmp_path: Path):
    things = [product("A", title="b " * 300), product("B", title="b " * 299), product("C", title="c")]
    made = write(tmp_path / "made", ABOUT, things, price, {})
    assert made.index.counts.max() == 300
    assert made.search("b c") == MemoryCatalogue(things).search("b c")
