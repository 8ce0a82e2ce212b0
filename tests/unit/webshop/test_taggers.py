"""Taggers: which words of titles they find, by which a shop compares titles, and how a user is told."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentevol.cli.data import import_data
from agentgym_envs.core import StepResult
from agentgym_envs.webshop import nouns, synth
from agentgym_envs.webshop.catalogues.stored import About, StoredCatalogue, write
from agentgym_envs.webshop.environment import WebShop
from agentgym_envs.webshop.official import importing
from agentgym_envs.webshop.official.importing import import_official
from agentgym_envs.webshop.official.library import opened
from agentgym_envs.webshop.rules import COMPAT, FIXED, changed
from agentgym_envs.webshop.taggers import PATTERN, RULES, TAGGERS, nouns_by
from agentgym_envs.webshop.taggers.tokens import sentences

WANTED, OTHER = "Soft Shorts", "Soft Table"
"""By rules they share a noun, by a lexicon none."""


@pytest.mark.parametrize(
    ("title", "found"),
    [
        ("Soft Shorts", "shorts"),  # a first word is looked up in lower case,
        ("Acme Soft Zibbling Shorts", "acme zibbling shorts"),  # unknown ones with a capital are names
        ("Durable Shorts. Durable Shorts", "shorts shorts"),  # each sentence has a first word
        ("acme zibble zibbling zibbly zibblive zibbled zibbate zib-ble zibbless", "acme zibble"),
        ("Gold - 12.5 $5 12oz | 100%", "gold 12oz |"),
        ("Acme Men's Shorts, 5.5oz", "acme men shorts 5.5oz"),
        ("ACME t-shirt, T-Shirts, anti-slip (2-Pack)", "acme t-shirts 2-pack"),
        ("running Running", ""),
        ("", ""),
        (" \n\n ...", ""),
    ],
)
def test_nouns_are_those_of_the_lexicon_or_have_the_form_of_one(title: str, found: str):
    assert nouns_by(PATTERN, title) == tuple(found.split())


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Acme Inc. Box. New", [["Acme", "Inc.", "Box", "."], ["New"]]),
        (
            "5 fl. oz. (a.m.), e.g. U.S. made",
            [["5", "fl", "."], ["oz", "."], ["(", "a.m.", ")", ",", "e.g.", "U.S.", "made"]],
        ),
        ("Size: S, (red) - can't", [["Size", ":S", ",", "(", "red", ")", "-", "ca", "n", "'", "t"]]),
        ("“Best” box... Top!) New", [["“", "Best", "”", "box", "..."], ["Top", "!", ")"], ["New"]]),
        ("one\n\ntwo\nthree", [["one"], ["two", "three"]]),
    ],
)
def test_tokens_of_sentences(text: str, tokens: list[list[str]]):
    assert [sentence for sentence in sentences(text) if sentence] == tokens


def test_a_long_title_takes_a_bounded_time():
    begun = time.monotonic()
    for sign in ("(", "a", ". ", "A.", ": ", "'", "?."):
        nouns_by(PATTERN, sign * 20_000)
    assert time.monotonic() - begun < 10


def test_an_unknown_tagger_is_none():
    assert (PATTERN, RULES) == TAGGERS
    assert nouns.NAME == RULES
    with pytest.raises(LookupError):
        nouns_by("spacy", "Soft Shorts")


def test_rules_name_the_tagger():
    assert (str(COMPAT), str(FIXED)) == ("compat,nouns=pattern-1", "fixed")
    assert str(changed(COMPAT, {"nouns": RULES})) == "compat"  # so it was called when there was no other
    with pytest.raises(ValueError, match="nouns is 'spacy'; it may be: pattern-1, rules-1"):
        changed(COMPAT, {"nouns": "spacy"})


def source(folder: Path) -> Path:
    """Files of two products of one type."""
    folder.mkdir()
    plain: dict[str, Any] = {"full_description": "", "small_description": [], "pricing": "$5.00"}
    plain |= {"images": ["x"], "product_category": "Clothing", "category": "fashion", "query": "shorts"}
    plain |= {"customization_options": {}}
    rows = [{**plain, "asin": asin, "name": name} for asin, name in (("B1", WANTED), ("B2", OTHER))]
    notes = {
        "B1": {"attributes": ["soft"], "instruction": "find me shorts", "instruction_attributes": ["soft"]}
    }
    for name, content in (("items_shuffle_1000", rows), ("items_ins_v2_1000", notes)):
        (folder / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the two products are imported; the generated shop is not made anew."""
    from agentgym_envs.home import data_home

    generated = synth.catalogue(data_home())
    monkeypatch.setattr(synth, "catalogue", lambda *_: generated)
    import_official(source(tmp_path / "data"), tmp_path / "home")
    return tmp_path / "home"


def bought(home: Path, asin: str, **switches: Any) -> StepResult:
    world = WebShop(home=home, **switches)
    world.reset(world.task("1k-synthetic/0"), seed=0)
    for action in ("search[soft]", f"click[{asin}]"):
        world.step(action)
    return world.step("click[buy now]")


def test_imported_titles_are_compared_by_the_lexicon_and_where_one_wishes_by_rules(home: Path):
    assert opened(home, "1k").about.nouns == PATTERN
    ours, former = bought(home, "b2"), bought(home, "b2", nouns=RULES)
    assert (ours.reward, ours.info["nouns"]) == (0.0, PATTERN)
    assert (former.reward, former.info["nouns"]) == (1.0, RULES)


def test_a_purchase_says_whether_its_reward_depends_on_the_tagger(home: Path):
    agree = {asin: bought(home, asin).info["reward_parts"]["taggers_agree"] for asin in ("b1", "b2")}
    assert agree == {"b1": True, "b2": False}
    assert bought(home, "b2", nouns=RULES).info["reward_parts"]["taggers_agree"] is False


def test_goals_of_the_generated_shop_are_compared_by_rules_alone(home: Path):
    world = WebShop(home=home)
    task = world.tasks("test")[0]
    world.reset(task, seed=0)
    last = [world.step(action) for action in world.expert(task)][-1]
    assert last.info["nouns"] == RULES
    assert "taggers_agree" not in last.info["reward_parts"]


def test_what_was_imported_with_other_nouns_is_compared_by_the_lexicon_too(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(importing, "PATTERN", RULES)
    import_official(tmp_path / "data", home)
    assert opened(home, "1k").about.nouns == RULES
    assert bought(home, "b2").reward == 0.0


def test_stored_nouns_are_those_of_the_named_tagger(home: Path, tmp_path: Path):
    products = list(opened(home, "1k").products.values())
    price = {"B1": 1.0, "B2": 1.0}

    def stored(tagger: str) -> StoredCatalogue:
        return write(tmp_path / tagger, About(name="test", nouns=tagger, settings={}), products, price, {})

    assert {tagger: stored(tagger).nouns_of("B1") for tagger in TAGGERS} == {
        PATTERN: ("shorts",),
        RULES: ("soft", "shorts"),
    }
    assert stored(RULES).nouns_of("B1", PATTERN) == ("shorts",)


def test_an_import_and_the_data_version_name_the_tagger(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    report = import_official(tmp_path / "data", home)
    assert report.warnings[2:] == ()  # of files that are not the published ones
    (note,) = report.notes
    assert note.startswith("all 1 goals: titles are compared by the nouns of pattern-1, not by spaCy's")
    monkeypatch.setenv("AGENTEVOL_HOME", str(tmp_path / "again"))
    import_data("webshop", tmp_path / "data")
    assert f"note: {note}" in capsys.readouterr().out
    version = WebShop(home=home).data_version
    assert version.rpartition(":")[2] == "compat,nouns=pattern-1"
