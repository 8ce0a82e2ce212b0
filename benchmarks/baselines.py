"""Scores of WebShop's baselines on the generated catalogue and on the imported goals of the benchmark.

    python -m benchmarks baselines [--json]

Scores are means of rewards and successes shares of rewards of exactly 1, in percent, each with an interval
of 95 %: a bootstrap over goals of the score, Wilson's of the success. Goals that share products are not
independent, so that the intervals are rather too narrow. Of a split with more goals, 500 are played, evenly
spaced; the first 500 of the benchmark's small set are its test split.

`reader` is the careful player of the demonstrations, with as many turns as an agent has and with twice as
many; all others play without a limit. It knows other words for facts, but none of those that are held out for
the test split.
"""

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import product
from random import Random
from typing import TYPE_CHECKING

from agentevol.loop.report.intervals import bootstrap_mean, wilson

if TYPE_CHECKING:
    from agentgym_envs.webshop.goal_sets import GoalSet
    from agentgym_envs.webshop.rules import Way

GOALS = 500
"""Maximum goals of a split."""
RESAMPLES = 1_000
SEED = 0


@dataclass(frozen=True)
class Standing:
    """Results of a player on the goals of one split; rates in percent."""

    split: str
    reward: str
    """`Rules.reward`, the rule by which options are compared."""
    player: str
    goals: int
    score: float
    score_low: float
    score_high: float
    success: float
    success_low: float
    success_high: float

    def __str__(self) -> str:
        score = f"{self.score:.1f} ({self.score_low:.1f} to {self.score_high:.1f})"
        success = f"{self.success:.1f} ({self.success_low:.1f} to {self.success_high:.1f})"
        return f"| {self.split} | {self.reward} | {self.player} | {self.goals} | {score} | {success} |"


HEAD = "| split | reward | player | goals | score | success |\n|---|---|---|---|---|---|"


def standing(split: str, reward: str, player: str, scores: Sequence[float]) -> Standing:
    """Results from rewards between 0 and 1, one for each goal."""
    low, high = bootstrap_mean(scores, SEED, resamples=RESAMPLES)
    solved = scores.count(1.0)
    least, most = wilson(solved, len(scores))
    figures = (sum(scores) / len(scores), low, high, solved / len(scores), least, most)
    return Standing(split, reward, player, len(scores), *(100 * figure for figure in figures))


def spaced(places: Sequence[int], most: int = GOALS) -> list[int]:
    """At most `most` evenly spaced places."""
    count = min(most, len(places))
    return [int(places[number * len(places) // count]) for number in range(count)]


def players(*turns: int) -> Mapping[str, Callable[..., list[str]]]:
    """The baselines by name, and the careful player with each of these numbers of turns."""
    from agentgym_envs.webshop.players.baselines import BASELINES
    from agentgym_envs.webshop.players.shopper import shop_around
    from agentgym_envs.webshop.rewards import Goal
    from agentgym_envs.webshop.shop import Shop

    def reader(max_turns: int, shop: Shop, goal: Goal, draw: Random) -> list[str]:
        return shop_around(shop, goal.instruction, draw, max_turns)

    return {**BASELINES, **{f"reader, {most} turns": partial(reader, most) for most in turns}}


def measured() -> Iterator[Standing]:
    """Results of every set and split on this machine, with its own reward rule; for imported goals, whose
    options may have names, with both rules.
    """
    from agentgym_envs.home import data_home
    from agentgym_envs.webshop import WebShop
    from agentgym_envs.webshop.goal_sets import open_all

    acts = players(WebShop.max_turns, 2 * WebShop.max_turns)
    for goal_set in open_all(data_home(), "official").values():
        ways = ("upstream", "fixed") if goal_set.imported else (goal_set.rules.reward,)
        for split, way in product(goal_set.places, ways):
            yield from _standings(goal_set, split, way, acts)


def _standings(
    goal_set: "GoalSet", split: str, way: "Way", acts: Mapping[str, Callable[..., list[str]]]
) -> Iterator[Standing]:
    from agentgym_envs.webshop.players.baselines import scores
    from agentgym_envs.webshop.shop import Shop
    from agentgym_envs.webshop.taggers import nouns_by

    catalogue, nouns = goal_set.catalogue, partial(nouns_by, goal_set.rules.nouns)
    shop = Shop(catalogue, replace(goal_set.rules, reward=way))
    goals = [goal_set.wishes[place].goal for place in spaced(goal_set.places[split])]
    name = split if goal_set.imported else f"{goal_set.name}-{split}"
    for player, act in acts.items():
        found = scores(act, shop, goals, lambda bought: catalogue.price(bought.asin), nouns)
        yield standing(name, way, player, found)


def main(given: Sequence[str]) -> None:
    """Print a table in Markdown, row by row, or with `--json` everything as JSON."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks baselines", description="Baselines of WebShop."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    if parser.parse_args(given).json:
        print(json.dumps([asdict(row) for row in measured()], indent=2))
        return
    print(HEAD)
    for row in measured():
        print(row, flush=True)
