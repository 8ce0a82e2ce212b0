"""Which goals are for what, and which one a reset draws."""

import math
from collections import Counter
from random import Random

import pytest

from agentgym_envs.webshop.official.sampling import WeightedGoals
from agentgym_envs.webshop.official.splits import disjoint, official
from agentgym_envs.webshop.rewards import Goal
from agentgym_envs.webshop.wishes import Wish


def wish(number: int, asin: str) -> Wish:
    goal = Goal(asin, "Shorts", "shorts", "Men › Shorts", "i need shorts", ("dry",), (), 20.0)
    return Wish(goal, str(number), "train")


@pytest.mark.parametrize(
    ("goal_set", "goals", "expected"),
    [
        ("human", 12087, {"test": (0, 500), "valid": (500, 1500), "train": (1500, 12087)}),
        ("synthetic", 6910, {"test": (0, 500), "train": (500, 6910)}),
        ("human", 13, {"test": (0, 13)}),
        ("human", 500, {"test": (0, 500)}),
        ("human", 501, {"test": (0, 500), "valid": (500, 501)}),
    ],
)
def test_the_official_split_is_by_number(
    goal_set: str, goals: int, expected: dict[str, tuple[int, int]]
) -> None:
    found = official(goal_set, goals)
    assert {split: found.count(split) for split in set(found)} == {
        split: end - begin for split, (begin, end) in expected.items()
    }
    assert all(set(found[begin:end]) == {split} for split, (begin, end) in expected.items())


def test_no_product_is_in_two_disjoint_splits() -> None:
    wishes = [wish(number, f"B{number % 2000:05}") for number in range(10_000)]
    found = disjoint(wishes, seed=7)
    where: dict[str, set[str]] = {}
    for one, split in zip(wishes, found, strict=True):
        where.setdefault(one.goal.asin, set()).add(split)
    assert all(len(splits) == 1 for splits in where.values())
    shares = Counter(split for splits in where.values() for split in splits)
    for split, share in (("train", 0.8), ("valid", 0.1), ("test", 0.1)):
        spread = math.sqrt(2000 * share * (1 - share))
        assert abs(shares[split] - 2000 * share) < 4 * spread  # 1 of 15,000 seeds is further off


def test_the_disjoint_split_depends_on_seed_and_product_alone() -> None:
    wishes = [wish(number, f"B{number:05}") for number in range(200)]
    assert disjoint(wishes, 1) == disjoint(wishes[::-1], 1)[::-1]
    assert disjoint(wishes, 1) != disjoint(wishes, 2)
    # These must never change: a published split is what they say.
    assert disjoint([wish(0, asin) for asin in ("B0EXAMPL00", "B0EXAMPL01", "B0EXAMPL11")], 0) == PINNED


PINNED = ["train", "test", "valid"]


# Weights 1, 2, 3, 4 of 10 in all. The original finds a number u of them in the sums 0, 1, 3, 6, 10, where
# goal k begins at the sum before its own: from 0 to 1 it draws goal 1, to 3 goal 2, and from 3 on goal 3.
def test_goals_are_drawn_by_the_weights_of_those_before() -> None:
    goals = WeightedGoals((1, 2, 3, 4))
    grid = Counter(goals.at((number + 0.5) / 10_000) for number in range(10_000))
    assert [grid[goal] / 10_000 for goal in range(4)] == [0.0, 0.1, 0.2, 0.7]


def test_the_original_never_draws_goal_0_and_gives_each_the_weight_of_the_one_before() -> None:
    weights = [Random(1).random() + number for number in range(50)]
    goals, total = WeightedGoals(weights), sum(weights)
    assert goals.at(0.0) == 1
    for goal in range(1, 49):
        begin = sum(weights[: goal - 1]) / total
        end = begin + weights[goal - 1] / total
        assert {goals.at(begin + 1e-9), goals.at((begin + end) / 2), goals.at(end - 1e-9)} == {goal}
    assert {goals.at(sum(weights[:48]) / total + 1e-9), goals.at(1.0)} == {49}


def test_one_goal_is_always_drawn_and_a_seed_draws_the_same() -> None:
    assert WeightedGoals([0.3]).draw(Random(0)) == 0
    goals = WeightedGoals((1, 2, 3, 4))
    first, second = Random(5), Random(5)
    assert [goals.draw(first) for _ in range(50)] == [goals.draw(second) for _ in range(50)]
    assert 0 <= goals.at(0.0) <= goals.at(1.0) == 3


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [1.0, -1.0, 5.0], [float("nan")], [float("inf")]])
def test_weights_that_nothing_can_be_drawn_by_are_refused(weights: list[float]) -> None:
    with pytest.raises(ValueError, match="no goal can be drawn"):
        WeightedGoals(weights)
