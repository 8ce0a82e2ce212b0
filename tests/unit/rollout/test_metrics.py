"""Breakdown of evaluations by what environments say of their tasks."""

import pytest
from rich.console import Console
from support.trajectories import trajectory

from agentevol.loop.state.progress import evaluation_table
from agentevol.rollout.metrics import summarise
from agentgym_store.records import Failed, Trajectory, Truncated, Turn


def episode(name: str, reward: float, **info: object) -> Trajectory:
    return trajectory(id=name, turns=(Turn(action="a", observation="o", reward=reward, info=info),))


def test_where_all_episodes_failed_there_is_no_mean_reward() -> None:
    broken = episode("a", 0.0).model_copy(update={"ending": Failed(failure="judge")})
    for one, is_mean in ((broken, False), (episode("b", 0.0), True)):
        console = Console(record=True, width=100)
        console.print(evaluation_table("m", summarise([one], "test")))
        text = console.export_text()
        assert ("mean reward 0.000" in text, "no episode has a return" in text) == (is_mean, not is_mean)


def test_the_rate_of_trainable_tasks_stands_beside_that_of_all() -> None:
    cut = episode("e", 0.0).model_copy(update={"ending": Truncated(limit="context")})
    broken = episode("f", 0.0, trainable=False).model_copy(update={"ending": Failed(failure="policy")})
    episodes = [
        *(episode("a", 1.0, trainable=False), episode("b", 1.0, trainable=False)),
        *(episode("c", 1.0, trainable=True), episode("d", 0.0, trainable=True), cut, broken),
    ]
    summary = summarise(episodes, "test")
    assert (summary.successes, summary.n) == (3, 5)
    # returns 1, 1, 1, 0, 0: squares about the mean of 0.6 add up to 1.2, and 1.2 / 4 = 0.3
    assert (summary.mean_reward, summary.reward_deviation) == (0.6, pytest.approx(0.3**0.5))
    assert summarise(episodes[:1], "test").reward_deviation is None
    assert summary.by["trainable"] == {
        "not trainable": (2, 2),
        "trainable": (1, 2),
        "trainable not told": (0, 1),
    }
    console = Console(record=True, width=100)
    console.print(evaluation_table("m", summary))
    rows = [line.split("│") for line in console.export_text().splitlines() if line.startswith("│")]
    assert {row[1].strip(): row[4].strip() for row in rows} == {
        "all": "3/5",
        "not trainable": "2/2",
        "trainable": "1/2",
        "trainable not told": "0/1",
    }


def test_there_is_no_such_breakdown_where_all_tasks_are_trainable_or_nothing_is_said() -> None:
    said, silent = episode("a", 1.0, trainable=True), episode("b", 1.0)
    for episodes in (
        [said],
        [silent],
        [said, silent],
        [episode("c", 1.0, trainable="no")],
        [trajectory(id="d")],
    ):
        assert "trainable" not in summarise(episodes, "test").by
