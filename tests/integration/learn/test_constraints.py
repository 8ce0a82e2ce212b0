"""Limits of costs: prices by hand, what always holds, and a bandit whose optimum is known."""

from dataclasses import replace
from math import exp, nan

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from agentevol.config.sections.constraints import Constraint
from agentevol.core.errors import ConfigError
from agentevol.learn.constraints import (
    Multiplier,
    combined,
    cost_advantage,
    from_json,
    share_of_costs,
    started,
    stepped,
    to_json,
)


def after(costs: list[float], multiplier: Multiplier | None = None, **settings) -> Multiplier:
    constraint = Constraint(**{"limit": 0.2, **settings})
    return stepped(multiplier or started(constraint), constraint, costs)


def test_a_price_rises_by_how_far_the_mean_cost_lies_above_the_limit():
    # 0.5 + 0.05 * (0.4 - 0.2)
    step = after([0.0, 0.8] * 50, initial=0.5)
    assert step.value == pytest.approx(0.51, abs=1e-12)
    assert step.mean_cost == pytest.approx(0.4)
    assert after([0.0, 0.9] * 50, initial=0.5).value != pytest.approx(0.51, abs=1e-3)


def test_a_kept_limit_lowers_the_price_to_0_and_not_below():
    assert after([0.0] * 100, initial=0.5).value == pytest.approx(0.5 - 0.05 * 0.2)
    assert after([0.0] * 100).value == 0.0
    price = Multiplier(0.5)
    for _ in range(60):
        price = after([0.0] * 100, price)
    assert price.value == 0.0


@settings(deadline=None)
@given(st.floats(0, 50), st.floats(0, 5), st.sampled_from(["plain", "log", "pid"]))
def test_prices_are_never_negative_and_a_violation_never_lowers_one(value, cost, form):
    step = after([cost] * 100, Multiplier(value), form=form, initial=0.1)
    assert 0 <= step.value <= 100
    if cost > 0.2 and form != "pid":
        assert step.value >= value


def test_nothing_moves_before_a_hundred_episodes_were_seen():
    early = after([1.0] * 60)
    assert (early.value, early.mean_cost, len(early.costs)) == (0.0, None, 60)
    # 60 of cost 1 and 60 of cost 0: the latest hundred have mean 0.4
    assert after([0.0] * 60, early).mean_cost == pytest.approx(0.4)
    # a larger batch counts as a whole
    assert after([1.0] * 100 + [0.0] * 300).mean_cost == pytest.approx(0.25)
    with pytest.raises(ValidationError, match="greater than or equal to 100"):
        Constraint(limit=0.2, window=99)


def test_costs_that_nobody_could_judge_are_left_out():
    assert after([1.0] * 100 + [nan] * 100).mean_cost == 1.0
    moved = after([1.0] * 100)
    assert after([nan], moved) == moved
    with pytest.raises(ConfigError, match="costs are at least 0, not -1"):
        after([-1.0])


def test_a_price_at_its_maximum_says_that_the_limit_cannot_be_kept():
    constraint = Constraint(limit=0.0, learning_rate=1.0, maximum=2.5)
    price = started(constraint)
    infeasible = []
    for _ in range(4):
        price = stepped(price, constraint, [1.0] * 100)
        infeasible.append(price.infeasible)
    assert infeasible == [False, False, True, True]
    assert price.value == 2.5
    assert not stepped(price, replace_limit(constraint, 2.0), [1.0] * 100).infeasible


def replace_limit(constraint: Constraint, limit: float) -> Constraint:
    return constraint.model_copy(update={"limit": limit})


def test_the_log_form_multiplies():
    step = after([0.4] * 100, form="log", initial=0.5)
    assert step.value == pytest.approx(0.5 * exp(0.05 * 0.2), abs=1e-12)
    with pytest.raises(ValidationError, match="stays at 0"):
        Constraint(limit=0.2, form="log")


def test_the_pid_form_adds_error_sum_of_errors_and_rise():
    gains = {"form": "pid", "proportional": 2.0, "integral": 0.5, "derivative": 3.0}
    first = after([0.4] * 100, **gains)
    # 2 * 0.2 + 0.5 * 0.2, no rise yet
    assert first.value == pytest.approx(0.5)
    second = after([0.5] * 100, first, **gains)
    # 2 * 0.3 + 0.5 * (0.2 + 0.3) + 3 * 0.1
    assert second.value == pytest.approx(1.15)
    third = after([0.0] * 100, second, **gains)
    # 2 * -0.2 + 0.5 * (0.5 - 0.2) is below 0, and a fall of the cost is no rise
    assert (third.value, third.error_sum) == (0.0, pytest.approx(0.3))
    fourth = after([0.0] * 100, third, **gains)
    assert after([0.0] * 100, fourth, **gains).error_sum == 0.0  # kept limits are not saved up
    start = started(Constraint(limit=0.2, initial=0.7, form="pid"))
    assert 0.005 * start.error_sum == pytest.approx(start.value) == pytest.approx(0.7)


def test_an_initial_price_above_the_maximum_is_an_error():
    with pytest.raises(ValidationError, match="lies above the maximum"):
        Constraint(limit=0.2, initial=200.0)


def test_multipliers_survive_as_text():
    state = {"harm": after([0.4] * 100), "spam": Multiplier(1.5, (0.1,), None, 0.2, True)}
    assert from_json(to_json(state)) == state
    assert to_json(from_json(to_json(state))) == to_json(state)
    with pytest.raises(ConfigError, match="not a state of multipliers"):
        from_json('{"harm": {"value": "much"}}')


COST = np.array([0.0, 1.0, 2.0, 2.0, nan, 5.0])
GROUPS = ["a", "a", "b", "b", "b", "c"]


def test_costs_are_centred_in_their_group():
    # a: mean 0.5; b: 2 and 2 without difference, NaN left out; c alone
    found = cost_advantage(COST, GROUPS)
    assert found.advantage.tolist() == [-0.5, 0.5, 0, 0, 0, 0]
    assert found.silent == {"b", "c"}
    # divided by the deviation of 0 and 1 with ddof 1, sqrt(1/2)
    scaled = cost_advantage(COST, GROUPS, std_norm=True).advantage
    assert scaled.tolist() == pytest.approx([-(0.5**0.5), 0.5**0.5, 0, 0, 0, 0])


def test_a_baseline_over_the_batch_lets_equally_costly_groups_speak():
    # mean of 0, 1, 2, 2, 5
    found = cost_advantage(COST, GROUPS, baseline="batch")
    assert found.advantage.tolist() == [-2, -1, 0, 0, 0, 3]
    assert cost_advantage(np.array([1.0, 1.0, 0.0]), ["a", "a", "b"], baseline="batch").advantage[0] > 0
    assert cost_advantage(np.array([1.0, 1.0, 0.0]), ["a", "a", "b"]).advantage[0] == 0


def test_no_costs_and_costs_equal_but_for_rounding_give_no_advantage():
    assert not cost_advantage(np.zeros(4), ["a", "a", "b", "b"]).advantage.any()
    assert cost_advantage(np.zeros(4), ["a", "a", "b", "b"]).silent == frozenset()
    noisy = np.array([0.1 + 0.2, 0.3])
    assert not cost_advantage(noisy, ["a", "a"], std_norm=True).advantage.any()


REWARD = np.array([1.0, -1.0, 0.5])
HARM, SPAM = np.array([0.5, -0.5, 0.0]), np.array([0.0, 1.0, -1.0])


def test_advantages_are_combined_by_prices():
    # (1 - 2 * 0.5 - 0) / 4, (-1 + 2 * 0.5 - 1) / 4, (0.5 - 0 + 1) / 4
    costs, prices = {"harm": HARM, "spam": SPAM}, {"harm": 2.0, "spam": 1.0}
    assert combined(REWARD, costs, prices).tolist() == pytest.approx([0.0, -0.25, 0.375])
    # 2 * 1 + 1 * 2 of costs beside 2.5 of rewards
    assert share_of_costs(REWARD, costs, prices) == pytest.approx(4 / 6.5)
    assert combined(REWARD, costs, {"harm": 2.0, "spam": 1.1}).tolist() != pytest.approx([0.0, -0.25, 0.375])


def test_a_price_of_0_leaves_the_reward_and_a_huge_one_the_cost():
    assert combined(REWARD, {"harm": HARM}, {"harm": 0.0}).tolist() == REWARD.tolist()
    assert combined(REWARD, {"harm": HARM}, {}).tolist() == REWARD.tolist()
    assert combined(REWARD, {"harm": HARM}, {"harm": 1e12}).tolist() == pytest.approx(-HARM, abs=1e-9)
    assert combined(REWARD, {}, {"harm": 1.0}).tolist() == (REWARD / 2).tolist()
    assert share_of_costs(REWARD, {"harm": HARM}, {}) == 0.0
    assert share_of_costs(REWARD * 0, {"harm": HARM * 0}, {"harm": 1.0}) == 0.0
    with pytest.raises(ConfigError, match="multipliers are at least 0"):
        combined(REWARD, {"harm": HARM}, {"harm": -0.1})


def mixture_path(constraint: Constraint, steps: int = 8000) -> tuple[list[float], list[float]]:
    """Probabilities of the dear arm, and prices, of a policy that learns from exact advantages.

    Arm 1 pays 1 and costs 1, arm 0 pays 0.2 and costs nothing. With a limit of 0.3 on the mean cost the best
    mixture plays arm 1 with probability 0.3, and its price makes both arms equal: 1 - 0.2 = 0.8.
    """
    logit, price = 0.0, started(constraint)
    probabilities, prices = [], []
    for _ in range(steps):
        p = 1 / (1 + exp(-logit))
        reward, cost = np.array([0.2, 1.0]), np.array([0.0, 1.0])
        odds = np.array([1 - p, p])
        advantages = reward - reward @ odds, {"harm": cost - cost @ odds}
        advantage = combined(*advantages, {"harm": price.value})
        logit += 0.5 * float((odds * advantage * np.array([-p, 1 - p])).sum())
        price = stepped(price, constraint, [p] * 100)
        probabilities.append(p)
        prices.append(price.value)
    return probabilities, prices


def test_a_bandit_learns_to_spend_exactly_what_is_allowed():
    probabilities, prices = mixture_path(Constraint(limit=0.3, form="pid", proportional=0.5))
    assert probabilities[-1] == pytest.approx(0.3, abs=0.005)
    assert prices[-1] == pytest.approx(0.8, abs=0.01)


def test_plain_steps_circle_around_the_boundary_and_meet_it_on_average():
    probabilities, prices = mixture_path(Constraint(limit=0.3, learning_rate=0.01), steps=20_000)
    assert np.mean(probabilities[2000:]) == pytest.approx(0.3, abs=0.02)
    assert min(prices[2000:]) < 0.8 < max(prices[2000:])


def test_a_limit_that_does_not_bind_has_no_price_and_one_that_does_is_noticed():
    probabilities, prices = mixture_path(Constraint(limit=1.0), steps=2000)
    assert probabilities[-1] > 0.99
    assert max(prices) == 0.0


def test_a_state_is_a_value():
    state = Multiplier(0.5)
    after([1.0] * 100, state)
    assert state == Multiplier(0.5)
    assert replace(state, value=0.6) != state
