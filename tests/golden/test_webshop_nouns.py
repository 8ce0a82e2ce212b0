"""Nouns of titles, beside those by which recorded purchases were compared, which TextBlob 0.20.1 found."""

import json
import lzma
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.webshop.products import Product, cleaned
from agentgym_envs.webshop.rewards import Goal, earned
from agentgym_envs.webshop.taggers import PATTERN, RULES, nouns_by

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def products(shared_data: Path) -> dict[str, Product]:
    rows, annotations = (
        json.loads((shared_data / "webshop" / name).read_text())
        for name in ("items_shuffle_1000.reconstructed.json", "items_ins_v2_1000.json")
    )
    return {product.asin: product for product in cleaned(rows, annotations)}


@pytest.fixture(scope="module")
def records(shared: Path) -> list[dict[str, Any]]:
    """All purchases, of both kinds of files and of goals of every kind."""
    found = [record for path in files(shared, "rewards") for record in read(path)]
    for trace in (trace for path in files(shared, "traces") for trace in read(path)):
        for step in trace["steps"]:
            if step.get("purchase"):
                told = step["purchase"]
                found.append(
                    {"goal": trace["goal"], "purchased_asin": told["asin"], "total": step["reward"], **told}
                )
    assert found, "there are no purchases"
    return found


def files(shared: Path, kind: str) -> list[Path]:
    return sorted((shared / "golden" / "webshop").glob(f"{kind}_*.jsonl.xz"))


def read(path: Path) -> Iterator[dict[str, Any]]:
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def total(record: dict[str, Any], bought: Product, tagger: str) -> float:
    told = record["goal"]
    names = ("asin", "name", "query", "product_category", "price_upper")
    options = told["goal_options"]
    goal = Goal(
        **{name: told[name] for name in names},
        instruction="",
        attributes=tuple(told["attributes"]),
        options=options if isinstance(options, dict) else tuple(options),
    )
    chosen = list(record["options"].values())
    return earned(goal, bought, chosen, record["price"], partial(nouns_by, tagger)).total


def test_nouns_are_those_that_were_recorded(
    products: dict[str, Product], records: list[dict[str, Any]]
) -> None:
    for record in records:
        found = [
            nouns_by(PATTERN, title)
            for title in (record["goal"]["name"], products[record["purchased_asin"]].title)
        ]
        assert found == [tuple(record["nouns_goal"]), tuple(record["nouns_purchased"])]


def test_purchases_earn_what_they_earned_by_our_own_nouns(
    products: dict[str, Product], records: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    equal = dict.fromkeys((PATTERN, RULES), 0)
    for record in records:
        for tagger in equal:
            equal[tagger] += total(record, products[record["purchased_asin"]], tagger) == record["total"]
    with capsys.disabled():
        sys.stdout.write(f"\nof {len(records)} purchases equal by the nouns of: {equal}\n")
    assert equal[PATTERN] == len(records)
    assert equal[RULES] < len(records)  # or this would notice no difference between taggers
