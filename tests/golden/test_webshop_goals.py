"""The goals of the small set, in AgentGym's order, from the prices that one start of the original drew."""

import json
import lzma
from pathlib import Path
from random import Random

import pytest

from agentgym_envs.webshop.official.goals import ORDER_SEED, human, shuffled, synthetic
from agentgym_envs.webshop.products import cleaned
from agentgym_envs.webshop.rewards import Goal

pytestmark = pytest.mark.golden


@pytest.fixture(scope="module")
def goals(shared: Path, shared_data: Path) -> list[Goal]:
    folder = shared_data / "webshop"
    annotations = json.loads((folder / "items_ins_v2_1000.json").read_text())
    products = cleaned(
        json.loads((folder / "items_shuffle_1000.reconstructed.json").read_text()), annotations
    )
    drawn = json.loads((shared / "golden" / "webshop" / "purchase_prices.json").read_text())["synthetic"]
    prices = {product.asin: drawn.get(product.asin, product.prices[0]) for product in products}
    return shuffled(synthetic(products, annotations, prices, Random(ORDER_SEED)))


def test_all_instructions_are_those_of_agentgym(goals: list[Goal], shared_data: Path) -> None:
    expected = json.loads((shared_data / "webshop" / "agentgym_synthetic_goals_6910.json").read_text())
    assert [goal.instruction for goal in goals] == expected


def test_goals_are_whole(goals: list[Goal], shared: Path) -> None:
    checked = 0
    for path in sorted((shared / "golden" / "webshop").glob("traces_*.jsonl.xz")):
        with lzma.open(path, "rt", encoding="utf-8") as file:
            traces = [json.loads(line) for line in file]
        for trace in traces:
            if trace["mode"] == "synthetic":
                goal, told = goals[trace["goal_index"]], trace["goal"]
                assert goal.instruction == told["instruction_text"]
                assert (goal.asin, list(goal.attributes)) == (told["asin"], told["attributes"])
                assert (goal.options, goal.price_upper) == (told["goal_options"], told["price_upper"])
                assert goal.weight == pytest.approx(told["weight"], rel=1e-12)
                checked += 1
    assert checked


def test_a_human_goal_is_one_annotation_whose_bound_is_above_the_price(shared_data: Path) -> None:
    folder = shared_data / "webshop"
    products = cleaned(json.loads((folder / "items_shuffle_1000.reconstructed.json").read_text()))
    annotations = json.loads((folder / "items_human_ins_1000.subset.json").read_text())
    found = human(products, annotations, {product.asin: 35.0 for product in products}, Random(0))
    assert len(found) == 13
    assert {goal.price_upper for goal in found} <= {50.0, 60.0, 70.0}  # the larger of two of 40 to 70
    assert all(goal.instruction.endswith(f"lower than {goal.price_upper:.2f} dollars") for goal in found)
    dear = human(products, annotations, {product.asin: 985.0 for product in products}, Random(0))
    assert {goal.price_upper for goal in dear} == {1000000.0}
    assert not any("price lower" in goal.instruction for goal in dear)
