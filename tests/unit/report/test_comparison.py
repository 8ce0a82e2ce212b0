"""`compare`: paired differences and the mean over seeds."""

from dataclasses import replace

import numpy as np
import pytest

from agentevol.core.errors import ConfigError
from agentevol.loop.report.comparison import (
    Evolved,
    differ_in_seed_alone,
    difference,
    mean_difference,
    mean_differences,
    mean_gain,
    run_strengths,
)


def outcomes(won: str) -> dict[str, bool]:
    """`"1101"`: tasks 0, 1 and 3 were won."""
    return {f"test/{number}": letter == "1" for number, letter in enumerate(won)}


def test_a_difference_counts_only_what_changed_and_pairs_by_task():
    one = difference(outcomes("1100" * 25), outcomes("1011" * 25))
    assert (one.n, one.won, one.lost, one.gain) == (100, 50, 25, 0.25)
    low, high = one.interval
    assert 0.08 < low < 0.25 < high < 0.42


def test_the_order_of_tasks_does_not_matter_and_tasks_of_one_side_do_not_count():
    first, second = outcomes("1100"), outcomes("0111")
    backwards = dict(reversed(second.items())) | {"test/9": True}
    assert difference(first, backwards) == difference(first, second)


def test_the_sign_test_is_exact():
    # By hand: 1 of 9 changes, 2 * (C(9, 0) + C(9, 1)) / 2^9 = 20 / 512.
    one = difference(outcomes("1" + "0" * 9), outcomes("0" + "1" * 8 + "0"))
    assert (one.won, one.lost, one.p) == (8, 1, 0.0390625)
    assert difference(outcomes("10"), outcomes("10")).p == 1.0
    assert difference(outcomes("10"), outcomes("01")).p == 1.0


def test_nothing_in_common_is_an_error():
    with pytest.raises(ConfigError, match="no task was played by both"):
        difference({"a": True}, {"b": True})


def test_mean_returns_are_paired_by_task():
    first = {f"test/{number}": 0.25 for number in range(100)}
    second = {task: 0.75 if number % 2 else 0.25 for number, task in enumerate(first)}
    one = mean_difference(first, {**second, "test/100": 1.0})  # which the first policy did not play
    assert (one.n, one.first, one.second, one.gain) == (100, 0.25, 0.5, 0.25)
    low, high = one.interval
    # half of the tasks rise by 0.5: the standard error is 0.025
    assert (low, high) == (pytest.approx(0.2, abs=0.01), pytest.approx(0.3, abs=0.01))
    assert mean_difference(second, second).interval == (0.0, 0.0)
    with pytest.raises(ConfigError, match="no task was played by both"):
        mean_difference(first, {"test/100": 1.0})


def test_mean_returns_are_told_by_kind_of_task():
    run = Evolved(
        "a",
        0,
        {},
        "test",
        1,
        {},
        {},
        start_returns={"a": 0.0, "b": 0.5, "c": 0.5},
        best_returns={"a": 1.0, "b": 0.5, "c": 0.75, "d": 1.0},
        labels={"kind": {"a": "price", "b": "split", "c": "split", "d": "split"}, "difficulty": {}},
    )
    found = {name: (one.n, one.first, one.second) for name, one in mean_differences(run, "kind").items()}
    assert found == {"all": (3, 1 / 3, 0.75), "price": (1, 0.0, 1.0), "split": (2, 0.5, 0.625)}
    assert list(mean_differences(run, None)) == list(mean_differences(run, "difficulty")) == ["all"]
    assert run.is_graded
    assert not replace(run, start_returns={"a": 0.0}, best_returns={"a": 1.0}).is_graded


def test_only_runs_that_differ_in_the_seed_are_repetitions():
    run = Evolved("a", 0, {"iterations": 5}, "test", 5, outcomes("10"), outcomes("11"))
    assert differ_in_seed_alone([run, replace(run, seed=1)])
    assert not differ_in_seed_alone([run])
    assert not differ_in_seed_alone([run, run])
    assert not differ_in_seed_alone([run, replace(run, seed=1, settings={"iterations": 4})])


def test_the_mean_gain_has_students_interval():
    # By hand: mean 0.2, deviation 0.1, half 4.3027 * 0.1 / sqrt(3).
    mean, (low, high) = mean_gain([0.1, 0.2, 0.3])
    assert mean == pytest.approx(0.2)
    assert (low, high) == (pytest.approx(0.2 - 0.248416, abs=1e-5), pytest.approx(0.2 + 0.248416, abs=1e-5))


def test_starts_and_bests_are_ranked_on_the_tasks_that_all_played():
    def run(name: str, start: dict[str, bool], best: dict[str, bool]) -> Evolved:
        return Evolved(name, 0, {}, "test", 1, start, best)

    start, best = {"a": False, "b": False, "c": True}, {"a": True, "b": True, "c": True}
    first, second = run("one", start, best), run("two", start, {**start, "d": True})
    found = run_strengths([first, second])
    # the second run begins as the first one did; its best has lost nothing and won nothing
    assert [one.name for one in found] == ["one best", "one start", "two best"]
    assert found[1].log_strength == pytest.approx(found[2].log_strength)
    assert sum(np.exp(one.log_strength) for one in found) == pytest.approx(1.0)
    # alone, 2 wins and a tie, with half a virtual win each: 3 to 1
    assert [np.exp(one.log_strength) for one in run_strengths([first])] == pytest.approx([0.75, 0.25])
    assert run_strengths([first, run("other", {"z": True}, {"z": True})]) == []
