from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.episode_weights import (
    advantage,
    binary,
    effective_sample_size,
    rank,
    reward,
    softmax,
)
from agentevol.learn.algorithms.imitation.sft import sft
from agentevol.learn.algorithms.testing import batch_of


def test_binary_keeps_what_reaches_the_threshold():
    assert binary([1.0, 0.5, 0.9989, 0.0]).tolist() == [1, 0, 0, 0]
    assert binary([1.0, 0.5, 0.4], threshold=0.5).tolist() == [1, 1, 0]


def test_reward_counts_from_the_lowest_return_and_is_never_negative():
    assert reward([1.0, 0.25, -0.5]).tolist() == [1.0, 0.25, 0.0]
    assert reward([1.0, -0.5], minimum=-1.0).tolist() == [2.0, 0.5]


def test_reward_equals_binary_where_returns_are_0_or_1():
    returns = [1.0, 0.0, 1.0]
    assert reward(returns).tolist() == binary(returns).tolist()


def test_softmax_by_hand():
    # group a: exp(1 / 0.5) : exp(0) = e^2 : 1, times 2 members; group b: exp(1) : 1, times 2
    weights = softmax([1.0, 1.0, 0.0, 0.5], ["a", "b", "a", "b"], temperature=0.5)
    e2, e1 = exp(2) / (exp(2) + 1), exp(1) / (exp(1) + 1)
    assert weights.tolist() == pytest.approx([2 * e2, 2 * e1, 2 - 2 * e2, 2 - 2 * e1])


def test_softmax_sums_to_the_group_and_ignores_a_shift():
    returns, groups = [0.1, 0.9, 0.4, 0.4, 0.0], [7, 7, 7, 8, 9]
    weights = softmax(returns, groups)
    assert weights[:3].sum() == pytest.approx(3)
    assert weights[3:].tolist() == [1.0, 1.0]  # groups of one
    assert softmax([value + 1000 for value in returns], groups).tolist() == pytest.approx(weights.tolist())


def test_softmax_temperatures_go_from_best_of_group_to_uniform():
    assert softmax([0.2, 1.0], ["a", "a"], temperature=1e-4).tolist() == pytest.approx([0, 2])
    assert softmax([0.2, 1.0], ["a", "a"], temperature=1e6).tolist() == pytest.approx([1, 1], abs=1e-5)


def test_effective_sample_size_by_hand():
    assert effective_sample_size([2.0, 2.0, 2.0]) == pytest.approx(3)
    assert effective_sample_size([1.0, 3.0]) == pytest.approx(1.6)  # 16 / 10
    assert effective_sample_size([0.0, 0.0]) == 0.0
    assert effective_sample_size([]) == 0.0


@pytest.mark.parametrize(
    "call",
    [
        lambda: softmax([1.0], ["a"], temperature=0.0),
        lambda: softmax([1.0], []),
        lambda: reward([float("nan")]),
        lambda: advantage([1.0], ["a"], beta=0.0),
        lambda: advantage([1.0], ["a"], max_weight=0.0),
        lambda: rank([1.0], []),
        lambda: effective_sample_size([1.0, -1.0]),
    ],
)
def test_senseless_weights_are_refused(call: object):
    with pytest.raises(ConfigError):
        call()


def test_advantage_weights_by_hand():
    # group a: mean 0.5, A = +-0.5, over beta 0.5; group b: one episode, A = 0
    weights = advantage([1.0, 0.0, 0.7], ["a", "a", "b"], beta=0.5)
    assert weights.tolist() == pytest.approx([exp(1), exp(-1), 1.0])


def test_advantage_weights_are_bounded_before_they_overflow():
    assert advantage([1e6, -1e6], ["a", "a"]).tolist() == [pytest.approx(20.0), 0.0]
    assert advantage([3.0, 0.0], ["a", "a"], max_weight=2.0)[0] == pytest.approx(2.0)


def test_rank_weights_by_hand():
    # ranks 1, 0, 2 of 3: 2 rank / 2; a tie of the best two of 3: ranks 1.5; alone: 1
    assert rank([0.4, 0.1, 0.9], ["a"] * 3).tolist() == [1.0, 0.0, 2.0]
    assert rank([0.9, 0.1, 0.9], ["a"] * 3).tolist() == [1.5, 0.0, 1.5]
    assert rank([0.4, 0.1, 0.9], ["a", "b", "c"]).tolist() == [1.0, 1.0, 1.0]
    assert rank([0.1 + 0.2, 0.3], ["a", "a"]).tolist() == [1.0, 1.0]  # equal but for rounding


GROUPED = st.lists(st.tuples(st.floats(-10, 10), st.sampled_from("abc")), min_size=1, max_size=12)


@given(sequences=GROUPED, shift=st.floats(-5, 5))
def test_weights_of_groups_are_not_negative_and_ignore_a_shift(sequences: list, shift: float):
    returns, groups = [value for value, _ in sequences], [group for _, group in sequences]
    for rule in (softmax, advantage):
        weights = rule(returns, groups)
        moved = rule([value + shift for value in returns], groups)
        assert (weights >= 0).all()
        assert moved.tolist() == pytest.approx(weights.tolist(), rel=1e-6, abs=1e-12)
    for group in set(groups):
        members = [number for number, name in enumerate(groups) if name == group]
        assert softmax(returns, groups)[members].sum() == pytest.approx(len(members))
        assert rank(returns, groups)[members].mean() == pytest.approx(1.0)


@given(sequences=GROUPED, scale=st.floats(0.1, 50))
def test_ranks_are_free_of_scale(sequences: list, scale: float):
    # whole numbers, which stay apart or equal whatever the scale
    returns, groups = [float(round(value)) for value, _ in sequences], [group for _, group in sequences]
    assert rank([scale * value for value in returns], groups).tolist() == rank(returns, groups).tolist()


def weigh(name: str, returns: list[float], groups: list[str], **options: object) -> list[float]:
    bound = objective(name, options).weigh  # type: ignore[arg-type]  # options of any kind, checked there
    assert bound is not None
    return bound(returns, groups).tolist()


RETURNS, GROUPS = [1.0, 0.25, 1.0, 0.0], ["a", "a", "b", "b"]


def test_agentevols_weights():
    assert weigh("agentevol", RETURNS, GROUPS) == RETURNS
    assert weigh("agentevol", RETURNS, GROUPS, minimum=-1.0) == [2.0, 1.25, 2.0, 1.0]
    assert weigh("agentevol", RETURNS, GROUPS, weighting="binary") == [1, 0, 1, 0]
    assert weigh("agentevol", RETURNS, GROUPS, weighting="binary", threshold=0.2) == [1, 1, 1, 0]
    expected = softmax(RETURNS, GROUPS, temperature=2.0).tolist()
    assert weigh("agentevol", RETURNS, GROUPS, weighting="softmax", temperature=2.0) == expected


def test_agentevol_with_binary_returns_is_filtered_cloning_and_with_equal_ones_fine_tuning():
    binary_returns = [1.0, 0.0, 1.0, 1.0]
    filtered = weigh("filtered_bc", binary_returns, GROUPS)
    assert weigh("agentevol", binary_returns, GROUPS) == filtered == [1, 0, 1, 1]
    assert weigh("agentevol", [1.0] * 4, GROUPS) == [1.0] * 4


def test_filtered_cloning_can_balance_tasks():
    # group a has two successes, b one, c none
    returns, groups = [1.0, 1.0, 1.0, 0.0, 0.0], ["a", "a", "b", "b", "c"]
    assert weigh("filtered_bc", returns, groups) == [1, 1, 1, 0, 0]
    assert weigh("filtered_bc", returns, groups, balance=True) == [0.5, 0.5, 1, 0, 0]


def test_the_other_rules_by_name():
    assert weigh("softmax_bc", RETURNS, GROUPS) == softmax(RETURNS, GROUPS).tolist()
    assert weigh("weighted_bc", RETURNS, GROUPS) == RETURNS
    assert weigh("weighted_bc", RETURNS, GROUPS, weighting="rank") == [2, 0, 2, 0]
    expected = advantage(RETURNS, GROUPS, beta=0.2, max_weight=5.0).tolist()
    options = {"weighting": "advantage", "beta": 0.2, "max_weight": 5.0}
    assert weigh("weighted_bc", RETURNS, GROUPS, **options) == expected


@pytest.mark.parametrize("name", ["agentevol", "filtered_bc", "weighted_bc", "softmax_bc"])
def test_weighted_cloning_is_fine_tuning_with_weights(name: str):
    assert algorithm(name).loss is sft
    assert algorithm(name).data == "episodes"
    # an episode of weight 0 is as good as absent: -(2 * -1 + 0 * -9) / (2 + 0)
    batch = batch_of([[-1.0], [-9.0]], [[1], [1]], weight=[2.0, 0.0])
    assert objective(name).loss(batch).value.item() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("agentevol", {"threshold": 0.5}),
        ("agentevol", {"weighting": "binary", "minimum": 0.5}),
        ("weighted_bc", {"beta": 0.5}),
        ("weighted_bc", {"weighting": "rank", "max_weight": 0.5}),
    ],
)
def test_settings_of_another_rule_are_refused(name: str, options: dict):
    with pytest.raises(ConfigError, match="has no effect: 'weighting' is"):
        objective(name, options)
