"""pass^k by hand."""

import pytest
from support.trajectories import trajectory

from agentevol.engines.scripted import said
from agentevol.loop.report.pass_rates import outcomes_of, pass_hat, pass_rates
from agentgym_store.records import Failed, Terminated, Trajectory, Turn

# Task a: 3 of 4 succeed, b: 1 of 4, c: 4 of 4, d: 0 of 2.
#   k = 1: (3/4 + 1/4 + 1 + 0) / 4 = 1/2
#   k = 2: (3/6 + 0/6 + 6/6 + 0/1) / 4 = 3/8
#   k = 3: (1/4 + 0 + 1) / 3 = 5/12, without d, which has two episodes
#   k = 4: (0 + 0 + 1) / 3 = 1/3
OUTCOMES = {"a": (3, 4), "b": (1, 4), "c": (4, 4), "d": (0, 2)}


@pytest.mark.parametrize(("k", "expected"), [(1, 1 / 2), (2, 3 / 8), (3, 5 / 12), (4, 1 / 3), (5, None)])
def test_it_is_the_mean_chance_that_k_episodes_succeed(k: int, expected: float | None) -> None:
    assert pass_hat(OUTCOMES, k) == (None if expected is None else pytest.approx(expected, abs=1e-12))


def test_one_success_more_is_noticed() -> None:
    assert pass_hat({**OUTCOMES, "b": (2, 4)}, 2) == pytest.approx((3 / 6 + 1 / 6 + 1) / 4, abs=1e-12)


def test_k_is_at_least_1() -> None:
    with pytest.raises(ValueError, match="a k of at least 1, not 0"):
        pass_hat(OUTCOMES, 0)


def test_failed_episodes_are_no_attempts() -> None:
    def played(task: str, reward: float | None) -> Trajectory:
        ending = Failed(failure="policy") if reward is None else Terminated()
        turn = Turn(observation="", sample=said("a"), action="a", reward=reward or 0.0)
        return trajectory(id="e", task_id=task, ending=ending, turns=(turn,))

    episodes = [played("a", 1.0), played("a", 0.0), played("a", None), played("b", 1.0), played("b", 1.0)]
    assert outcomes_of(episodes) == {"a": (1, 2), "b": (2, 2)}
    rates = pass_rates(episodes, 3)
    assert {name: one.rate for name, one in rates.items()} == {"pass^1": 0.75, "pass^2": 0.5}


def test_repeats_of_a_task_are_no_further_tasks() -> None:
    def played(repeats: int) -> list[Trajectory]:
        wins = [number % 2 for number in range(40)]  # of 40 tasks half always succeed
        turn = Turn(observation="", sample=said("a"), action="a", reward=0.0)
        return [
            trajectory(
                id=f"{task}-{again}",
                task_id=str(task),
                ending=Terminated(),
                turns=(turn.model_copy(update={"reward": float(win)}),),
            )
            for task, win in enumerate(wins)
            for again in range(repeats)
        ]

    once, often = (pass_rates(played(repeats), repeats)["pass^1"] for repeats in (1, 8))
    assert once == often
    assert (once.rate, once.low, once.high) == (0.5, 0.35, 0.65)
