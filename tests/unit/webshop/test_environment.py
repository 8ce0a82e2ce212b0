"""The shop as an environment: tasks, episodes, what a step tells, and forks."""

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from agentgym_envs.core import StepResult, TaskNotFound
from agentgym_envs.webshop import synth
from agentgym_envs.webshop.environment import SEARCHING, WebShop
from agentgym_envs.webshop.official.importing import import_official


@pytest.fixture(scope="module")
def home() -> Path:
    """Where the generated catalogue is kept between runs of the tests."""
    from agentgym_envs.home import data_home

    return data_home()


@pytest.fixture
def shop(home: Path) -> WebShop:
    return WebShop(home=home)


def played(world: WebShop, task_id: str, actions: list[str]) -> list[StepResult]:
    world.reset(world.task(task_id), seed=0)
    return [world.step(action) for action in actions]


def test_the_first_page_says_what_is_wanted_and_that_one_may_search(shop: WebShop):
    task = shop.tasks("test", "small")[0]
    seen = shop.reset(task, seed=0)
    assert seen.text == f"WebShop [SEP] Instruction: [SEP] {task.instruction} [SEP] Search"
    assert seen.actions == (SEARCHING,)


def test_who_knows_the_product_earns_everything_in_every_difficulty(shop: WebShop):
    for difficulty in shop.difficulties:
        for task in list(shop.tasks("test", difficulty)[:10]):
            results = played(shop, task.id, shop.expert(task))
            assert [result.reward for result in results] == [*[0.0] * (len(results) - 1), 1.0]
            assert results[-1].terminated
            parts = results[-1].info["reward_parts"]
            strict = ("asin_match", "options_exact", "attributes_all", "price_ok")
            assert all(parts[name] for name in strict), (task.id, parts)
            assert results[-1].observation.text.startswith("Thank you for shopping with us!")


def test_a_step_tells_what_may_be_clicked_now_and_whether_it_did_anything(shop: WebShop):
    task = shop.tasks("test")[0]
    found, nothing = played(shop, task.id, ["search[shirt]", "click[buy now]"])
    assert "invalid_action" not in found.info
    assert nothing.info["invalid_action"] is True
    assert nothing.observation == found.observation
    assert nothing.info["clickables"] == found.info["clickables"]
    assert found.info["clickables"][:2] == ["back to search", "next >"]
    assert found.info["has_search_bar"] is False
    clicks = {f"click[{name}]" for name in found.info["clickables"]}
    assert found.observation.actions == tuple(sorted([*clicks, SEARCHING]))


def test_after_the_purchase_nothing_is_earned_again(shop: WebShop):
    task = shop.tasks("test")[0]
    buying = shop.expert(task)
    again = played(shop, task.id, [*buying, "search[shirt]", *buying])[len(buying) :]
    assert {result.reward for result in again} == {0.0}
    assert all(result.terminated for result in again)
    assert again[-1].observation.actions == ()


def test_where_that_is_upstreams_rule_one_may_buy_again(home: Path):
    world = WebShop(home=home, after_done="upstream")
    task = world.tasks("test")[0]
    buying = world.expert(task)
    results = played(world, task.id, [*buying, *buying])
    assert [result.reward for result in results if result.terminated] == [1.0, 1.0]


def test_a_fork_goes_its_own_way(shop: WebShop, home: Path):
    task = shop.tasks("test")[0]
    buying = shop.expert(task)
    played(shop, task.id, buying[:-1])
    kept = shop.snapshot()
    lost = shop.step("click[back to search]")
    other = WebShop(home=home)
    other.restore(kept)
    assert other.step(buying[-1]).reward == 1.0
    assert not lost.terminated
    with pytest.raises(TypeError, match="not a snapshot of webshop"):
        other.restore("elsewhere")


def test_what_is_not_there_is_said(shop: WebShop, home: Path):
    with pytest.raises(TaskNotFound, match="ids begin with: synth"):
        shop.task("nowhere/1")
    with pytest.raises(TaskNotFound, match="ids of synth are"):
        shop.task("synth/1")
    with pytest.raises(TaskNotFound, match="there are: train, valid, test"):
        shop.tasks("dev")
    with pytest.raises(ValueError, match="no difficulty 'tiny'"):
        shop.tasks("test", "tiny")
    with pytest.raises(ValueError, match="no option 'price'; switches of the shop are: reward"):
        WebShop(home=home, price="low")
    with pytest.raises(ValueError, match="reward is 'strict'; it may be: upstream, fixed"):
        WebShop(home=home, reward="strict")
    with pytest.raises(ValueError, match="hidden_queries is 1; it may be: True, False"):
        WebShop(home=home, hidden_queries=1)


def test_the_data_version_names_the_rules(shop: WebShop, home: Path):
    generated = shop.data_version.partition("+")[0]
    assert (generated.split(":")[0], generated.split(":")[2]) == ("synth", "fixed")
    marked = WebShop(home=home, echo_options=True).data_version.partition("+")[0]
    assert marked == f"{generated},echo_options=True"
    assert WebShop(home=home, after_done="upstream").data_version != shop.data_version


def test_a_reset_that_names_no_goal_draws_as_the_original_or_evenly(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    asins = [f"B00000000{number}" for number in range(4)]
    row = {
        "name": "Shorts",
        "full_description": "Light shorts.",
        "small_description": ["Imported"],
        "pricing": "$5.00",
        "images": [],
        "product_category": "Clothing › Shorts",
        "category": "fashion",
        "query": "shorts",
        "customization_options": {},
    }
    rows = [{**row, "asin": asin} for asin in asins]
    told = {"instruction": "find me shorts", "attributes": ["soft", "warm"]}
    # the rarer its attributes, the more a goal weighs: 1/3, 1/3, 1/3 and 1
    kinds = dict(zip(asins, ["warm", "warm", "warm", "soft"], strict=True))
    notes = {asin: {**told, "instruction_attributes": [kind]} for asin, kind in kinds.items()}
    for name, content in (("items_shuffle_1000", rows), ("items_ins_v2_1000", notes)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), encoding="utf-8")
    import_official(tmp_path, tmp_path / "home")
    generated = synth.catalogue(home)
    monkeypatch.setattr(synth, "catalogue", lambda *_: generated)
    splits = ("1k-synthetic-test",)

    shop = WebShop(home=tmp_path / "home")
    assert len(shop.tasks(*splits)) == 4
    weights = [shop._sets["1k-synthetic"].wishes[place].goal.weight for place in range(4)]
    assert sorted(weights) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])
    drawn = Counter(shop.draw(splits, seed) for seed in range(2_000))
    whole = sum(weights)
    due = [0.0, weights[0] / whole, weights[1] / whole, (weights[2] + weights[3]) / whole]
    assert [drawn[number] / 2_000 for number in range(4)] == pytest.approx(due, abs=0.04)
    evenly = WebShop(home=tmp_path / "home", sampling="fixed")
    assert [evenly.draw(splits, seed) for seed in range(5)] == [0, 1, 2, 3, 0]
    assert shop.draw(("train", "test"), 7) == 7  # generated ones, by their own rules
    with pytest.raises(TaskNotFound):
        shop.draw(("nowhere",), 0)


def test_another_shop_has_products_and_goals_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(synth, "make", partial(synth.make, products=60))
    first, third = WebShop(home=tmp_path), WebShop(home=tmp_path, shop=3)
    assert first.data_version != third.data_version
    for split in first.splits:
        goals = {task.id for task in first.tasks(split)}
        assert goals
        assert goals.isdisjoint(task.id for task in third.tasks(split))
    task = third.tasks("test")[0]
    assert played(third, task.id, third.expert(task))[-1].reward == 1
    with pytest.raises(TaskNotFound):
        first.task(task.id)


@pytest.mark.parametrize("seed", [-1, "3", 1.0, True, None])
def test_the_number_of_a_shop_is_a_whole_one(home: Path, seed: Any):
    with pytest.raises(ValueError, match=r"^shop is "):
        WebShop(home=home, shop=seed)
