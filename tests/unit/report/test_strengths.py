"""Bradley-Terry strengths by hand, and their invariants."""

from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from agentevol.core.errors import ConfigError
from agentevol.loop.report.strengths import (
    improved,
    ranked,
    strengths,
    win_probability,
    wins_by_task,
    with_virtual_wins,
)

WINS = arrays(np.float64, (4, 4), elements=st.integers(0, 20).map(float))


def test_two_policies_by_hand():
    # 3 : 1, with half a virtual win each 3.5 : 1.5 of 5
    assert strengths([[0, 3], [1, 0]]).tolist() == pytest.approx([0.7, 0.3])


def test_the_oracle_notices_another_result():
    assert strengths([[0, 2], [2, 0]])[0] != pytest.approx(0.7, abs=0.1)


def test_wins_in_proportion_to_known_strengths_give_them_back():
    known = np.array([0.5, 0.3, 0.2])
    wins = 1e9 * win_probability(known) * (1 - np.eye(3))  # so many that virtual wins do not count
    assert strengths(wins).tolist() == pytest.approx(known.tolist(), abs=1e-6)


def test_a_policy_with_only_wins_has_a_finite_strength():
    found = strengths([[0, 5, 5], [0, 0, 2], [0, 3, 0]])
    assert 0 < found[0] < 1
    assert np.isfinite(np.log(found)).all()


@given(wins=WINS)
def test_a_symmetric_matrix_gives_equal_strengths(wins: np.ndarray):
    assert strengths(wins + wins.T).tolist() == pytest.approx([0.25] * 4, abs=1e-8)


@given(wins=WINS, order=st.permutations(range(4)))
def test_another_order_of_policies_gives_theirs_in_that_order(wins: np.ndarray, order: list[int]):
    moved = strengths(wins[np.ix_(order, order)])
    assert moved.tolist() == pytest.approx(strengths(wins)[order].tolist(), abs=1e-8)


@given(wins=WINS)
def test_one_of_two_wins(wins: np.ndarray):
    probability = win_probability(strengths(wins))
    assert np.allclose(probability + probability.T, 1.0, rtol=0, atol=1e-12)


def log_likelihood(strength: np.ndarray, wins: np.ndarray) -> float:
    return float((wins * np.log(win_probability(strength))).sum())


@given(wins=WINS, start=arrays(np.float64, 4, elements=st.floats(0.01, 1)))
def test_a_step_never_lowers_the_likelihood(wins: np.ndarray, start: np.ndarray):
    games, strength = with_virtual_wins(wins), start / start.sum()
    for _ in range(5):
        better = improved(strength, games)
        assert log_likelihood(better, games) >= log_likelihood(strength, games) - 1e-9
        assert better.sum() == pytest.approx(1.0)
        strength = better


@given(wins=WINS)
def test_what_is_found_cannot_be_improved(wins: np.ndarray):
    games, found = with_virtual_wins(wins), strengths(wins)
    for other in np.random.default_rng(0).dirichlet(np.ones(4), size=20):
        assert log_likelihood(found, games) >= log_likelihood(other, games) - 1e-9


def test_several_matrices_at_once_are_each_alone():
    stack = np.random.default_rng(0).integers(0, 9, size=(5, 3, 3)).astype(float)
    assert strengths(stack).tolist() == pytest.approx(np.array([strengths(one) for one in stack]), abs=1e-9)


def test_wins_task_by_task():
    # a beats b, ties with c (but for rounding), b loses to c
    wins = wins_by_task([[0.3, 0.2, 0.1 + 0.2]])
    assert wins.tolist() == [[[0, 1, 0.5], [0, 0, 0], [0.5, 1, 0]]]


def test_policies_are_ranked_on_the_tasks_that_all_played():
    scores = {
        "start": {"t1": 0.0, "t2": 0.0, "t3": 1.0, "t4": 0.0},
        "best": {"t1": 1.0, "t2": 1.0, "t3": 1.0, "t5": 0.0},
    }
    # shared t1, t2, t3: 2 wins and a tie: 2.5 + 0.5 to 0.5 + 0.5
    first, second = ranked(scores, seed=0)
    assert (first.name, second.name) == ("best", "start")
    assert first.log_strength == pytest.approx(log(0.75))
    assert second.log_strength == pytest.approx(log(0.25))


def test_intervals_hold_the_estimate_narrow_with_tasks_and_repeat_with_the_seed():
    def of(tasks: int) -> list:
        random = np.random.default_rng(1)
        scores = {
            name: {str(task): float(random.random() < rate) for task in range(tasks)}
            for name, rate in (("a", 0.8), ("b", 0.5), ("c", 0.3))
        }
        return ranked(scores, seed=7, resamples=200)

    few, many = of(20), of(500)
    assert [one.name for one in many] == ["a", "b", "c"]
    for one in few + many:
        assert one.interval[0] <= one.log_strength <= one.interval[1]
    assert np.ptp(many[0].interval) < np.ptp(few[0].interval) / 2
    assert of(20) == few


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ({"a": {"t": 1.0}}, "two policies or more, not 1"),
        ({"a": {"t": 1.0}, "b": {"u": 1.0}}, "no task was played by all"),
    ],
)
def test_nothing_to_compare_is_an_error(scores: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        ranked(scores, seed=0)
