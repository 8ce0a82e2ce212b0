from math import exp

import pytest

from agentevol.errors import ConfigError
from agentevol.learn.algorithms.weights import binary, effective_sample_size, reward, softmax


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
        lambda: effective_sample_size([1.0, -1.0]),
    ],
)
def test_senseless_weights_are_refused(call: object):
    with pytest.raises(ConfigError):
        call()
