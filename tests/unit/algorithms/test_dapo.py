"""DAPO: the penalty for length, what is left out, and which groups teach anything."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from support.rollouts import rollouts_of, single_steps

from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.data.selection.filters import informative_groups
from agentevol.learn.algorithms.advantages.reward_shaping import overlong, overlong_penalty
from agentevol.learn.algorithms.testing import example_rollouts

CAP, BUFFER = 20480, 0.2  # the paper's: a buffer of 4096


@pytest.mark.parametrize(
    ("tokens", "penalty"), [(0, 0), (16384, 0), (17408, -0.25), (18432, -0.5), (20480, -1), (30000, -1)]
)
def test_the_penalty_grows_within_the_buffer(tokens: int, penalty: float):
    found = overlong_penalty(np.array([tokens], dtype=np.float64), CAP, BUFFER)
    assert found.item() == pytest.approx(penalty, abs=1e-12)


def test_the_penalty_is_continuous_and_never_grows_with_length():
    found = overlong_penalty(np.arange(0.0, 25000.0), CAP, BUFFER)
    steps = np.diff(found)
    assert (steps <= 0).all()
    assert steps.min() == pytest.approx(-1 / 4096)
    assert found.min() == -1
    assert found.max() == 0


def test_the_penalty_counts_the_tokens_of_all_turns_and_is_paid_at_the_last():
    # two turns of 3 and 4 tokens, cap 8, buffer 0.5: -(7 - 4) / 4, twice as much with factor 2
    given = rollouts_of([[0.0, 1.0]], [[1, 1]], ["a"])
    steps = single_steps([0.0, 1.0], [3, 4])
    given = replace(given, steps=replace(steps, sequence=np.array([0, 0])))
    shaped = overlong(given, overlong_cap=8, overlong_buffer=0.5, overlong_factor=2.0)
    assert shaped.reward.tolist() == [0, 1 - 1.5]
    assert overlong(given) is given


def test_episodes_that_were_cut_off_can_be_left_out():
    # they stay in the mean of their group: 1 - 1/2, 0 - 1/2
    given = rollouts_of([1.0, 0.0], [[1, 1], [1, 1]], ["a", "a"], truncated=[False, True])
    options = {"scale_rewards": "none"}
    everything = objective("dapo", options).advantage(given)
    assert everything.advantage.tolist() == [0.5, 0.5, -0.5, -0.5]
    assert everything.kept is None
    masked = objective("dapo", {**options, "mask_overlong": True}).advantage(given)
    assert masked.advantage.tolist() == [0.5, 0.5, 0, 0]
    assert masked.kept.tolist() == [True, False]


def test_the_reported_return_is_the_worlds():
    given = example_rollouts(0)
    plain = objective("dapo").advantage(given).metrics
    shaped = objective("dapo", {"overlong_cap": 6}).advantage(given).metrics
    assert shaped["reward_mean"] == plain["reward_mean"]
    assert shaped["adv_min"] != plain["adv_min"]


def test_groups_whose_returns_differ_teach():
    returns = [1.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.5, 0.3, 0.3 + 1e-10]
    groups = ["a", "a", "b", "b", "c", "c", "d", "e", "e"]
    # a differs; b all passed, c all failed, d is alone, e differs by rounding only
    assert informative_groups(returns, groups).tolist() == [True] * 2 + [False] * 7


def test_no_group_with_variance_is_ever_left_out():
    random = np.random.default_rng(0)
    for _ in range(50):
        returns, groups = random.integers(0, 3, 12) / 2, [str(name) for name in random.integers(0, 4, 12)]
        kept = informative_groups(returns.tolist(), groups)
        for name in set(groups):
            members = np.array([group == name for group in groups])
            assert (kept[members] == (returns[members].std() > 0)).all()


def test_nothing_sampled_is_nothing_kept_and_an_unknown_return_is_an_error():
    assert informative_groups([], []).tolist() == []
    with pytest.raises(ConfigError, match="return of episode 0 of group 'a' is nan"):
        informative_groups([nan, 1.0], ["a", "a"])
