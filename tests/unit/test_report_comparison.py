"""`compare`: paired differences and the mean over seeds."""

from dataclasses import replace

import pytest

from agentevol.errors import ConfigError
from agentevol.report.comparison import Evolved, differ_in_seed_alone, difference, mean_gain


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
