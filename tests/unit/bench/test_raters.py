"""Simulated raters of the benchmark `evolution`."""

from collections.abc import Sequence
from contextlib import closing
from random import Random

import pytest
from support.trajectories import trajectory

from agentevol.cli.benchmarks.evolution.raters import Rater, corrections, first_difference, pairs
from agentgym_envs.registry import make
from agentgym_store.feedback.records import Comparison, Correction
from agentgym_store.records import Trajectory, Turn


def episode(name: str, task: str, won: bool, actions: Sequence[str] = ("look",)) -> Trajectory:
    turns = [Turn(action=action, observation="o", reward=0.0) for action in actions]
    turns[-1] = turns[-1].model_copy(update={"reward": float(won)})
    return trajectory(id=name, task_id=task, turns=tuple(turns))


def test_pairs_are_of_one_task_and_the_won_one_is_first():
    found = pairs([episode("a", "x", True), episode("b", "x", False), episode("c", "y", False)], 9, Random(0))
    assert [(won.id, lost.id) for won, lost in found] == [("a", "b")]


def test_each_task_has_a_pair_before_any_has_a_second_one():
    played = [
        episode(f"{task}{number}", task, number == 0) for task in ("x", "y", "z") for number in range(3)
    ]
    found = pairs(played, 4, Random(0))
    assert len(found) == 4
    assert {won.task_id for won, _ in found[:3]} == {"x", "y", "z"}


@pytest.mark.parametrize(("wrong", "share"), [(0.0, 0.0), (0.3, 0.3), (1.0, 1.0)])
def test_a_rater_is_wrong_as_often_as_declared(wrong: float, share: float):
    pair = episode("a", "x", True), episode("b", "x", False)
    generator = Random(0)
    told = [Rater("Ada", wrong).compare(pair, generator) for _ in range(2000)]
    opinions = [record.opinion for record in told if isinstance(record.opinion, Comparison)]
    assert len(opinions) == 2000
    found = sum(opinion.verdict == "worse" for opinion in opinions) / 2000
    assert found == pytest.approx(share, abs=0.04)  # four standard errors


@pytest.mark.parametrize(
    ("said", "plan", "index"),
    [
        (["a", "b"], ["a", "c"], 1),
        (["a", "b"], ["a", "b", "c"], None),
        (["a", "b", "c"], ["a", "b"], None),
        ([], ["a"], None),
    ],
)
def test_the_first_difference_from_a_plan(said: list[str], plan: list[str], index: int | None):
    assert first_difference(said, plan) == index


def test_a_correction_is_the_experts_action_where_a_lost_episode_leaves_its_way():
    with closing(make("alfworld")) as environment:
        task = environment.tasks("train", "small")[0]
        plan = list(environment.expert(task) or ())
        lost = episode("a", task.id, False, [plan[0], "look", *plan[1:]])
        won = episode("b", task.id, True, ["look"])
        (found,) = corrections([lost, won], environment)
    assert (found.trajectory_id, found.turn) == ("a", 1)
    assert found.opinion == Correction(action=plan[1])
