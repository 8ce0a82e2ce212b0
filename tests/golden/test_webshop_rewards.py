"""Purchases in the original WebShop: every part of what they earned, with the nouns that its tagger found."""

import json
import lzma
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.webshop.products import cleaned
from agentgym_envs.webshop.rewards import Goal, earned

pytestmark = pytest.mark.golden


def goal_of(told: dict[str, Any]) -> Goal:
    options = told["goal_options"]
    return Goal(
        asin=told["asin"],
        name=told["name"],
        query=told["query"],
        product_category=told["product_category"],
        instruction="",
        attributes=tuple(told["attributes"]),
        options=options if isinstance(options, dict) else tuple(options),
        price_upper=told["price_upper"],
    )


def test_purchases_earn_what_they_earned(
    shared: Path, shared_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, annotations = (
        json.loads((shared_data / "webshop" / name).read_text())
        for name in ("items_shuffle_1000.reconstructed.json", "items_ins_v2_1000.json")
    )
    products = {product.asin: product for product in cleaned(rows, annotations)}
    paths = sorted((shared / "golden" / "webshop").glob("rewards_*.jsonl.xz"))
    assert paths, "there is no file of rewards"
    for path in paths:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
        assert records, f"{path} has no purchases"
        for record in records:
            goal, bought = goal_of(record["goal"]), products[record["purchased_asin"]]
            # its tagger may find other nouns in one title as a goal than as a product
            found = iter([record["nouns_goal"], record["nouns_purchased"]])
            chosen = list(record["options"].values())
            ours = asdict(earned(goal, bought, chosen, record["price"], lambda _, found=found: next(found)))
            theirs = {name: record[name] for name in ours if name in record}
            theirs |= {"attributes": record["n_att"], "options": record["n_option"]}
            assert ours == theirs | {"price": record["r_price"]}
            nouns = {goal.name: record["nouns_goal"], bought.title: record["nouns_purchased"]}
            if len(nouns) == 2:
                fixed = earned(goal, bought, chosen, record["price"], nouns.__getitem__, "fixed")
                assert fixed.total == record["total_options_as_list"]
        with capsys.disabled():
            sys.stdout.write(f"\n{path.name}: {len(records)} purchases equal in every part\n")
