"""Content: splits share no name, noun, wording or numbers."""

from itertools import combinations
from typing import Any

import pytest

from agentgym_envs.social.content import (
    SPLITS,
    appointments,
    attributes,
    evidence,
    goods,
    people,
    phrases,
    projects,
    scenes,
)
from agentgym_envs.social.families import FAMILIES
from agentgym_envs.social.family import LEVELS
from agentgym_envs.social.tasks import COUNTS, SocialTask, generated

POOLS: dict[str, dict[str, tuple[Any, ...]]] = {
    **{
        f"{module.__name__.rpartition('.')[2]}.{name}": pool
        for module in (people, goods, scenes, appointments, evidence, projects)
        for name, pool in vars(module).items()
        if isinstance(pool, dict) and set(pool) == set(SPLITS)
    },
    **{f"attributes.{name}": pool for name, pool in attributes.ATTRIBUTES.items()},
    **{f"evidence.{name}": pool for name, pool in evidence.EVIDENCE.items()},
    **{
        f"{group}.{occasion}": pool
        for group in ("BARGAINING", "SCHEDULING", "MEETING", "ASKING", "LISTENING")
        for occasion, pool in getattr(phrases, group).items()
    },
}


def test_all_pools_are_looked_at() -> None:
    assert len(POOLS) >= 55
    assert {"people.FIRST", "goods.ITEMS", "scenes.PRICE", "BARGAINING.far"} <= set(POOLS)


@pytest.mark.parametrize("name", POOLS)
def test_no_entry_of_a_pool_is_in_two_splits(name: str) -> None:
    pool = POOLS[name]
    for one, other in combinations(SPLITS, 2):
        assert not set(pool[one]) & set(pool[other])
    assert all(pool[split] and len(set(pool[split])) == len(pool[split]) for split in SPLITS)


def tasks(split: str, family: str, count: int = 20) -> list[SocialTask]:
    return [generated(split, family, level, number) for level in LEVELS for number in range(count)]


def parameters(task: SocialTask) -> str:
    """The numbers of a setting: names and nouns of the split replaced by nothing."""
    setting = task.setting.model_dump(exclude={"item", "items", "project", "cause", "purpose"})
    return repr(setting)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_parameters_are_in_two_splits(family: str) -> None:
    found = {split: {parameters(task) for task in tasks(split, family)} for split in SPLITS}
    for one, other in combinations(SPLITS, 2):
        assert not found[one] & found[other]
    assert all(len(settings) > 40 for settings in found.values())


@pytest.mark.parametrize("family", FAMILIES)
def test_tasks_are_equal_on_every_call_and_differ_by_number(family: str) -> None:
    first = generated("train", family, "2", 5)
    generated.cache_clear()
    assert generated("train", family, "2", 5) == first
    assert generated("train", family, "2", 6).setting != first.setting
    assert {task.seat for task in tasks("train", family)} == {0, 1}


def test_generated_settings_keep_their_rules() -> None:
    for task in [one for split in SPLITS for one in tasks(split, "price")]:
        sale: Any = task.setting
        assert 15 <= sale.listed <= 3000
        seller, buyer = sale.limits[sale.seller], sale.limits[1 - sale.seller]
        assert 0.39 * sale.listed <= seller <= 0.71 * sale.listed
        assert 0.78 <= buyer / seller <= 1.75
        assert sale.targets[sale.seller] > seller
        assert sale.targets[1 - sale.seller] < buyer
    for task in tasks("train", "split"):
        pool: Any = task.setting
        assert 5 <= sum(pool.pool) <= 7
        totals = [sum(n * value for n, value in zip(pool.pool, one, strict=True)) for one in pool.values]
        assert totals == [10, 10]
        assert pool.values[0] != pool.values[1]
    for task in tasks("test", "friends"):
        both: Any = task.setting
        names = [{one.name for one in people} for people in both.lists]
        assert names[0] & names[1] == {both.common}
        assert all(5 <= len(people) <= 12 for people in both.lists)
        firsts = {one.name.split()[0] for people in both.lists for one in people}
        assert not firsts & {one.first_name for one in task.people}
    for task in tasks("train", "schedule"):
        week: Any = task.setting
        assert all(6 <= len(one.free) <= 12 or not week.common for one in week.calendars)
        assert all(one.private not in one.free for one in week.calendars)


def test_a_share_of_sales_has_no_zone_and_a_share_of_weeks_no_common_slot() -> None:
    sales = [task.setting for task in tasks("train", "price", 100)]
    share = sum(not sale.has_zone for sale in sales) / len(sales)  # type: ignore[union-attr]
    assert share == pytest.approx(0.2, abs=0.07)  # three standard errors of 300 draws
    weeks = [task.setting for task in tasks("train", "schedule", 100)]
    assert sum(not week.common for week in weeks) / len(weeks) == pytest.approx(0.13, abs=0.06)  # type: ignore[union-attr]


def test_every_split_has_its_number_of_tasks() -> None:
    assert COUNTS == {"train": 100_000, "valid": 1_000, "test": 2_000}
