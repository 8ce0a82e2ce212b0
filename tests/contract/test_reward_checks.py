"""The checks of reward functions, potentials and turn rewards: on this project's own, and on broken ones."""

from collections.abc import Sequence
from itertools import count

import pytest

from agentevol.config.rewards.registries import POTENTIALS, REWARDS, TURN_REWARDS
from agentevol.data.rewards.check import check_potential, check_reward, check_turn_reward
from agentevol.data.rewards.potentials import History
from agentgym_envs.testing import Report
from agentgym_store.records import Trajectory

HERE = __name__


@pytest.mark.parametrize("name", sorted(REWARDS.own))
def test_every_reward_function_passes_the_check(name: str):
    report = check_reward(name)
    assert report.passed, report.lines()


@pytest.mark.parametrize("name", sorted(POTENTIALS.own))
def test_every_potential_passes_the_check(name: str):
    report = check_potential(name)
    assert report.passed, report.lines()


@pytest.mark.parametrize("name", sorted(TURN_REWARDS.own))
def test_every_turn_reward_passes_the_check(name: str):
    report = check_turn_reward(name)
    assert report.passed, report.lines()


NUMBERS = count()


def short(episodes: Sequence[Trajectory]) -> list[float]:
    return [0.0] * min(len(episodes), 1)


def unparsed(episodes: Sequence[Trajectory]) -> list[float]:
    return [float(one.turns[0].action.split()[0] == "go") for one in episodes]


def by_place(episodes: Sequence[Trajectory]) -> list[float]:
    return [float(number) for number, _ in enumerate(episodes)]


def counting(episodes: Sequence[Trajectory]) -> list[float]:
    return [float(next(NUMBERS)) for _ in episodes]


def idle(episodes: Sequence[Trajectory], *, weight: float = 1.0) -> list[float]:  # noqa: ARG001
    return [0.0 for _ in episodes]


def constant(history: History) -> float:  # noqa: ARG001
    return 1.0


def infinite(history: History) -> float:
    return float("inf") if len(history.turns) > 2 else 0.0


def stateful(history: History) -> float:  # noqa: ARG001
    return float(next(NUMBERS))


def unchanged(reward: float, observation: str, action: str) -> float:  # noqa: ARG001
    return reward


def squared(reward: float, observation: str, action: str) -> float:  # noqa: ARG001
    return 10 ** min(reward, 400.0) * 1e300 * 1e300


def failed(report: Report) -> dict[str, str]:
    return {one.name: " ".join(one.violations) for one in report.results if one.violations}


@pytest.mark.parametrize(
    ("name", "check", "sentence"),
    [
        ("short", "numbers", "gave 1 numbers for 12 episodes"),
        ("unparsed", "numbers", "raised IndexError"),
        ("by_place", "order", "other numbers in another order"),
        ("counting", "equal", "equal inputs give other results"),
        ("idle", "options", "option 'weight' has no effect with"),
    ],
)
def test_the_check_of_reward_functions_notices_what_is_broken(name: str, check: str, sentence: str):
    assert sentence in failed(check_reward(f"{HERE}:{name}"))[check]


@pytest.mark.parametrize(
    ("name", "check", "sentence"),
    [
        ("infinite", "numbers", "gave inf for"),
        ("stateful", "history", "a history has another potential"),
        ("stateful", "equal", "equal inputs give other results"),
        ("constant", "effect", "all states have the potential 1"),
    ],
)
def test_the_check_of_potentials_notices_what_is_broken(name: str, check: str, sentence: str):
    assert sentence in failed(check_potential(f"{HERE}:{name}"))[check]


@pytest.mark.parametrize(
    ("name", "check", "sentence"),
    [
        ("squared", "numbers", "gave inf for"),
        ("unchanged", "effect", "every turn keeps the environment's reward"),
    ],
)
def test_the_check_of_turn_rewards_notices_what_is_broken(name: str, check: str, sentence: str):
    assert sentence in failed(check_turn_reward(f"{HERE}:{name}"))[check]
