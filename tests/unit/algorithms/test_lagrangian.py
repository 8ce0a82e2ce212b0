"""Advantages under constraints, by hand."""

from dataclasses import replace
from math import nan

import numpy as np
import pytest
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Rollouts
from agentevol.core.algorithms.registry import objective
from agentevol.learn.algorithms.policy_gradient.lagrangian import less_costs
from agentevol.learn.algorithms.testing import example_rollouts

PLAIN = {"scale_rewards": "none"}


def rollouts(**changes) -> Rollouts:
    """Two groups of two episodes of one token; the second group's episodes cost the same."""
    given = {
        "reward": [1.0, 0.0, 0.5, 0.25],
        "group": ["a", "a", "b", "b"],
        "costs": {"harm": [1.0, 0.0, 2.0, 2.0]},
        "multipliers": {"harm": 3.0},
        **changes,
    }
    return rollouts_of(
        given.pop("reward"),
        [[True]] * 4,
        given.pop("group"),
        old_logp=[[-1.0]] * 4,
        ref_logp=[[-1.0]] * 4,
        **given,
    )


def advantages(data: Rollouts, **options) -> list[float]:
    bound = objective("lagrangian", {**PLAIN, **options})
    assert bound.advantage is not None
    return bound.advantage(data).advantage.tolist()


def test_costs_are_subtracted_at_their_price():
    # (0.5 - 3 * 0.5) / 4, (-0.5 + 3 * 0.5) / 4; the second group differs in rewards alone
    expected = [-0.25, 0.25, 0.125 / 4, -0.125 / 4]
    assert advantages(rollouts()) == pytest.approx(expected)
    assert advantages(rollouts(multipliers={"harm": 2.0})) != pytest.approx(expected, abs=1e-3)
    assert advantages(rollouts(costs={"harm": [1.0, 0.1, 2.0, 2.0]})) != pytest.approx(expected, abs=1e-3)


def test_without_prices_it_is_grpo():
    for seed in range(3):
        data = example_rollouts(seed)
        free = replace(data, multipliers={})
        grpo = objective("grpo").advantage
        ours = objective("lagrangian").advantage
        assert grpo is not None
        assert ours is not None
        assert ours(free).advantage.tolist() == grpo(data).advantage.tolist()
        assert ours(data).advantage.tolist() != grpo(data).advantage.tolist()


def test_a_huge_price_leaves_minus_the_cost():
    got = advantages(rollouts(multipliers={"harm": 1e12}))
    assert got == pytest.approx([-0.5, 0.5, 0, 0], abs=1e-9)


def test_the_whole_update_as_baseline_lets_equally_costly_groups_pay():
    # mean 1.25: costs -0.25, -1.25, 0.75, 0.75
    got = advantages(rollouts(), cost_baseline="batch")
    assert got == pytest.approx(
        [(0.5 + 0.75) / 4, (-0.5 + 3.75) / 4, (0.125 - 2.25) / 4, (-0.125 - 2.25) / 4]
    )


def test_a_cost_can_count_once_and_be_scaled_by_its_own_deviation():
    once = rollouts(costs={"harm": [5.0, 0.0, 2.0, 2.0]})
    assert advantages(once, cost="any") == advantages(rollouts())
    # costs 5 and 0 have deviation 5 / sqrt(2): +-1 / sqrt(2)
    got = advantages(once, cost_std_norm=True)
    assert got[0] == pytest.approx((0.5 - 3 * 0.5**0.5) / 4)


def test_costs_that_nobody_could_judge_or_that_have_no_price_change_no_advantage():
    unknown = advantages(rollouts(costs={"harm": [nan, 0.0, 2.0, 2.0]}))
    assert unknown == pytest.approx([0.125, -0.125, 0.125 / 4, -0.125 / 4])
    assert advantages(rollouts(costs={}, multipliers={})) == pytest.approx([0.5, -0.5, 0.125, -0.125])
    other = {"harm": [1.0, 0.0, 2.0, 2.0], "spam": [9.0, 0.0, 0.0, 9.0]}
    assert advantages(rollouts(costs=other)) == advantages(rollouts())


def test_the_figures_name_costs_beside_rewards():
    bound = objective("lagrangian", PLAIN).advantage
    assert bound is not None
    metrics = bound(rollouts()).metrics
    # shares: costs 3 * (0.5 + 0.5) beside rewards 0.5 + 0.5 + 0.125 + 0.125
    expected = {
        "cost_harm": 1.25,
        "violation_rate_harm": 0.75,
        "multiplier_harm": 3.0,
        "cost_share": 3 / 4.25,
        "frac_groups_equally_costly_harm": 0.5,
        "reward_without_cost": 0.0,
    }
    assert {name: metrics[name] for name in expected} == pytest.approx(expected)
    nobody = bound(rollouts(costs={"harm": [nan] * 4})).metrics
    assert "cost_harm" not in nobody
    assert "reward_without_cost" not in nobody


def test_the_input_is_left_alone():
    data = rollouts()
    found = objective("grpo").advantage
    assert found is not None
    before = found(data)
    kept = before.advantage.copy()
    less_costs(data, before)
    assert np.array_equal(before.advantage, kept)
