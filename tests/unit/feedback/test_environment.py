"""The environment's own opinions, by hand."""

from pathlib import Path
from typing import Any

import pytest
from support.trajectories import trajectory
from typer.testing import CliRunner

from agentevol.cli import app
from agentevol.data.feedback.sources.environment import RULES, about
from agentgym_store.feedback.records import Dimensions, Score
from agentgym_store.feedback.table import FeedbackTable
from agentgym_store.records import Trajectory, Turn
from agentgym_store.store import Store


def turn(reward: float = 0.0, **fields: Any) -> Turn:
    return Turn(action="look", observation="ok", reward=reward, **fields)


def episode(*turns: Turn, name: str = "a", **fields: Any) -> Trajectory:
    return trajectory(id=name, turns=turns, **fields)


def told(
    one: Trajectory, rule: str, shown: tuple[Trajectory, ...] = ()
) -> list[tuple[int | None, float, float]]:
    found = about([one], [rule], shown=shown).records
    assert {record.source for record in found} <= {f"environment:{rule}"}
    return [(r.turn, r.opinion.value, r.opinion.low) for r in found if isinstance(r.opinion, Score)]


def test_the_return_is_told_where_it_is_a_share() -> None:
    assert told(episode(turn(0.25), turn(0.5)), "return") == [(None, 0.75, 0)]
    assert told(episode(turn(3)), "return") == []


def test_rewards_of_turns_have_the_scale_on_which_all_lie_and_given_turns_have_none() -> None:
    assert told(episode(turn(0.5), turn(1)), "turn_reward") == [(0, 0.5, 0), (1, 1, 0)]
    assert told(episode(turn(-0.5), turn(1)), "turn_reward") == [(0, -0.5, -1), (1, 1, -1)]
    assert told(episode(turn(1), turn(0.5), given_turns=1), "turn_reward") == [(1, 0.5, 0)]
    assert told(episode(turn(2), turn(0)), "turn_reward") == []


def test_efficiency_is_the_experts_length_over_the_own_one() -> None:
    won, lost = episode(turn(), turn(), turn(), turn(1)), episode(turn(), turn())
    expert = episode(turn(), turn(1), name="shown", purpose="demonstrate")
    elsewhere = episode(turn(), turn(), turn(1), name="other", task_id="another", purpose="demonstrate")
    assert told(won, "efficiency") == [(None, 0.25, 0)]
    assert told(won, "efficiency", (expert, elsewhere)) == [(None, 0.5, 0)]
    assert told(episode(turn(1)), "efficiency", (expert,)) == [(None, 1, 0)]  # shorter than the expert
    assert told(lost, "efficiency", (expert,)) == [(None, 0, 0)]


def test_valid_is_the_share_of_actions_that_could_be_carried_out() -> None:
    one = episode(turn(), turn(info={"invalid_action": True}), turn(), turn())
    assert told(one, "valid") == [(None, 0.75, 0)]


def test_costs_are_a_score_and_dimensions() -> None:
    costly = about([episode(turn(costs={"harm": 2.0}), turn(costs={"harm": 1.0}))], ["costs"]).records
    assert [one.opinion for one in costly] == [
        Score(value=0, low=0, high=1),
        Dimensions(values={"harm": 3.0}),
    ]
    assert told(episode(turn()), "costs") == [(None, 1, 0)]
    assert told(episode(turn(costs={"harm": None})), "costs") == []  # not judged


def test_an_episode_without_a_return_has_no_opinion() -> None:
    failed = episode(turn(1), ending={"kind": "failed", "failure": "server", "detail": ""})
    found = about([failed], RULES)
    assert (found.records, found.without) == ([], 1)


def test_the_command_adds_each_opinion_once(tmp_path: Path) -> None:
    table = tmp_path / "table"
    Store.open(table).append([episode(turn(1)), episode(turn(0), name="b")], commit={"n": "1"})
    command = ["feedback", "environment", str(table), "--rule", "return", "--rule", "valid"]
    first, second = CliRunner().invoke(app, command), CliRunner().invoke(app, command)
    assert first.output.startswith("4 opinions added; 0 were there already")
    assert second.output.startswith("0 opinions added; 4 were there already")
    assert len(FeedbackTable.beside(table).records()) == 4


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_says_the_same_again(rule: str) -> None:
    one = episode(turn(0.5), turn(0.25))
    found = about([one], [rule])
    again = about([one], [rule], found.records)
    assert (again.records, again.known) == ([], len(found.records))
