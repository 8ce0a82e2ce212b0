"""Divergence estimators and the adaptive coefficient, by hand."""

from math import exp, log

import pytest
import torch

from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.losses.kl import (
    AdaptiveKL,
    divergence,
    k1,
    k2,
    k3,
    k3_straight,
    k3_weighted,
)

# The policy gives the token half the reference's probability: d = -ln 2, exp(-d) = 2.
HALF = -log(2)
EXPECTED = {"k1": HALF, "k2": log(2) ** 2 / 2, "k3": 2 + HALF - 1, "k3_straight": 2 + HALF - 1}


def gap(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(("kind", "expected"), EXPECTED.items())
def test_estimators_of_one_token(kind: str, expected: float):
    ratio = gap(3.0)
    assert divergence(kind, gap(HALF), ratio).item() == pytest.approx(expected, abs=1e-12)
    assert divergence(kind, gap(HALF + 0.01), ratio).item() != pytest.approx(expected, abs=1e-4)


def test_all_are_zero_for_equal_policies_and_for_no_others():
    for kind in (*EXPECTED, "k3_weighted"):
        found = divergence(kind, gap(0.0, 0.3, -0.3), gap(1.0, 2.0, 0.5))
        assert found[0].item() == 0
        assert (found[1:] != 0).all()


def test_k2_and_k3_are_never_negative():
    everywhere = torch.linspace(-60, 60, 1001, dtype=torch.float64)
    assert (k2(everywhere) >= 0).all()
    assert (k3(everywhere) >= 0).all()
    assert (k1(everywhere) < 0).any()


def test_k3_is_bounded_as_in_verl():
    # exp(3) - 3 - 1 = 16.1, cut to 10; without the cut at 20, exp(800) would not be finite
    assert k3(gap(-3.0, -800.0, 800.0)).tolist() == [10, 10, 10]
    assert k3(gap(-2.0)).item() == pytest.approx(exp(2) - 2 - 1)


def test_the_gradients_of_the_estimators():
    # k1: 1; k2: d; k3: 1 - exp(-d); straight through: the gradient of k2
    for estimator, slope in ((k1, 1.0), (k2, HALF), (k3, 1 - 2.0), (k3_straight, HALF)):
        at = gap(HALF)
        estimator(at).sum().backward()
        assert at.grad.item() == pytest.approx(slope, abs=1e-12)


def test_the_ratio_of_the_weighted_estimator_has_a_gradient():
    # rho (exp(-d) + d - 1): by rho the k3, by d rho (1 - exp(-d))
    at, ratio = gap(HALF), gap(0.5)
    k3_weighted(at, ratio).sum().backward()
    assert ratio.grad.item() == pytest.approx(1 - log(2), abs=1e-12)
    assert at.grad.item() == pytest.approx(0.5 * (1 - 2), abs=1e-12)


def test_k3_is_unbiased_and_k3_weighted_is_so_off_policy():
    # policy (0.8, 0.2), reference (0.5, 0.5), sampled from (0.3, 0.7)
    policy, reference, other = gap(0.8, 0.2).detach(), gap(0.5, 0.5).detach(), gap(0.3, 0.7).detach()
    divergences = policy.log() - reference.log()
    exact = (policy * divergences).sum().item()
    assert (policy * k3(divergences)).sum().item() == pytest.approx(exact, abs=1e-12)
    assert (other * k3_weighted(divergences, policy / other)).sum().item() == pytest.approx(exact, abs=1e-12)
    assert (other * k3(divergences)).sum().item() != pytest.approx(exact, abs=1e-2)


def test_the_coefficient_follows_its_target():
    # KL 0.11 of target 0.1 is 10 % too much; 500 of 1000 sequences: 0.01 (1 + 0.1 / 2)
    start = AdaptiveKL(coef=0.01, target=0.1, horizon=1000)
    assert start.updated(0.11, 500).coef == pytest.approx(0.0105, abs=1e-15)
    assert start.updated(0.1, 500) == start
    assert start.coef == 0.01  # an update gives a new controller


@pytest.mark.parametrize(("kl", "factor"), [(0.0, 0.9), (-3.0, 0.9), (50.0, 1.1)])
def test_the_coefficient_changes_by_a_fifth_of_a_horizon_at_most(kl: float, factor: float):
    start = AdaptiveKL(coef=0.2, target=6, horizon=1000)
    assert start.updated(kl, 500).coef == pytest.approx(0.2 * factor, abs=1e-15)


def test_the_coefficient_stays_above_zero():
    # 1 - 0.2 * 50 would be -9
    assert AdaptiveKL(coef=1.0, target=1.0, horizon=10).updated(0.0, 500).coef == pytest.approx(0.01)
    with pytest.raises(ConfigError, match="target of the adaptive KL has to be above 0, not 0"):
        AdaptiveKL(target=0)
