"""Weights for the mismatch of engine and learner, by hand."""

from dataclasses import replace
from math import exp, log, nan

import numpy as np
import pytest
import torch
from support.rollouts import rollouts_of

from agentevol.core.algorithms.contract import Advantages
from agentevol.learn.algorithms.losses.importance import (
    Correction,
    Importance,
    effective_fraction,
    engine_correction,
    mismatch,
)
from agentevol.learn.algorithms.losses.policy_gradient import policy_gradient
from agentevol.learn.algorithms.testing import batch_of

# Two sequences: ratios 3 and 1/2, then 1/4 and a token that no engine sampled. Cap 2, floor 0.3.
GAPS = [log(3), log(0.5), log(0.25), nan]
SEQUENCE = [0, 0, 1, 1]
EXPECTED = {
    "none": [1, 1, 1, 1],
    "token": [2, 0.5, 0.25, 1],
    "sequence": [1.5, 1.5, 0.25, 1],  # 3 / 2 and 1/4
    "masked": [0, 0.5, 0, 1],
    "geometric": [1, 1, 0, 1],  # sqrt(3 / 2) = 1.22 is within 1.3, 1/4 is not within [1 / 1.3, 1.3]
}


def correction(kind: Importance, **bounds: float) -> Correction:
    return Correction(kind, **{"cap": 2.0, "floor": 0.3, "band": 0.3, **bounds})


def weights(kind: Importance, gaps: list[float] = GAPS, **bounds: float) -> list[float]:
    given = torch.tensor(gaps, dtype=torch.float64)
    return correction(kind, **bounds).weights(given, torch.tensor(SEQUENCE), 2).tolist()


@pytest.mark.parametrize(("kind", "expected"), EXPECTED.items())
def test_weights_of_each_kind(kind: Importance, expected: list[float]):
    assert weights(kind) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "bounds"),
    [
        ("token", {"cap": 2.5}),
        ("sequence", {"cap": 1.4}),
        ("masked", {"cap": 3.1}),
        ("masked", {"floor": 0.2}),
        ("geometric", {"band": 0.2}),
    ],
)
def test_every_bound_counts(kind: Importance, bounds: dict[str, float]):
    assert weights(kind, **bounds) != pytest.approx(EXPECTED[kind], abs=1e-3)


def test_the_bounds_of_a_mask_and_a_band_are_inside():
    one = torch.tensor([log(0.5)], dtype=torch.float64)
    assert Correction("masked", cap=2.0, floor=one.exp().item()).weights(one, torch.tensor([0]), 1).item() > 0
    assert Correction("geometric", band=1.0).weights(one, torch.tensor([0]), 1).item() == 1


@pytest.mark.parametrize("kind", EXPECTED)
def test_an_engine_that_agrees_gets_weight_one(kind: Importance):
    assert weights(kind, [0.0] * 4) == [1.0] * 4


@pytest.mark.parametrize("kind", EXPECTED)
def test_tokens_that_no_engine_sampled_have_weight_one(kind: Importance):
    assert weights(kind, [nan] * 4) == [1.0] * 4


@pytest.mark.parametrize("kind", ["token", "sequence", "masked"])
def test_weights_stay_between_zero_and_the_cap(kind: Importance):
    found = weights(kind, [900.0, 900.0, -900.0, -900.0])
    assert all(0 <= weight <= 2 for weight in found)


def batch(**columns):
    base = {"old_logp": [[-1.0, -1.0]], "rollout_logp": [[-1.0 - log(1.5), -1.0]], "advantage": [1.0]}
    return batch_of([[-1.0, -1.0]], [[1, 1]], **{**base, **columns})


def test_weights_multiply_the_surrogate_and_have_no_gradient():
    # ratio 1 at both tokens: -(1.5 * 1 + 1 * 1) / 2, gradients -1.5 / 2 and -1 / 2
    data = batch()
    loss = policy_gradient(data, importance="token")
    loss.value.backward()
    assert loss.value.item() == pytest.approx(-1.25, abs=1e-12)
    assert data.logp.grad.tolist() == pytest.approx([-0.75, -0.5], abs=1e-12)


def test_without_mismatch_the_loss_is_as_without_weights():
    same = batch(rollout_logp=[[-1.0, -1.0]])
    expected = policy_gradient(same).value.item()
    for kind in EXPECTED:
        assert policy_gradient(same, importance=kind).value.item() == expected
    assert policy_gradient(batch(), importance="token").value.item() != expected


def test_weights_do_not_reach_the_divergence():
    # the surrogate is 0, so only k1 of 0.5 a token is left
    data = batch(advantage=[0.0], ref_logp=[[-1.5, -1.5]])
    loss = policy_gradient(data, importance="token", kl_coef=0.1, kl="k1")
    assert loss.value.item() == pytest.approx(0.05, abs=1e-12)


ROLLOUTS = replace(
    rollouts_of([1.0, 0.0], [[1, 1], [1, 1]], ["a", "a"]),
    old_logp=np.array(GAPS) - 5,
    rollout_logp=np.array([-5.0, -5.0, -5.0, nan]),
)
ROLLOUTS = replace(ROLLOUTS, old_logp=np.where(np.isnan(ROLLOUTS.old_logp), -5.0, ROLLOUTS.old_logp))
FOUND = Advantages(np.array([1.0, 1.0, -1.0, -1.0]), metrics={"before": 1.0})


def test_figures_of_the_weights():
    # weights 2, 1/2, 1/4, 1: mean 3.75 / 4; ess 3.75^2 / (4 * 5.3125); the cap changed one of four
    found = engine_correction(ROLLOUTS, FOUND, importance="token").metrics
    assert found["before"] == 1
    assert found["importance_mean"] == pytest.approx(0.9375, abs=1e-12)
    assert found["importance_ess"] == pytest.approx(3.75**2 / 21.25, abs=1e-12)
    assert found["importance_clipfrac"] == 0.25
    # the three sampled tokens: ratios 3, 1/2, 1/4
    assert found["engine_ratio_mean"] == pytest.approx(1.25, abs=1e-12)
    assert found["engine_ratio_max"] == pytest.approx(3, abs=1e-12)
    assert found["engine_gap_mean"] == pytest.approx((log(3) + log(2) + log(4)) / 3, abs=1e-12)
    assert found["engine_gap_max"] == pytest.approx(log(4), abs=1e-12)
    assert found["engine_k3"] == pytest.approx((3.75 - log(3) + log(2) + log(4) - 3) / 3, abs=1e-12)


def test_the_mismatch_is_told_where_nothing_corrects_it_too():
    corrected = engine_correction(ROLLOUTS, FOUND, importance="token").metrics
    told = engine_correction(ROLLOUTS, FOUND).metrics
    assert told == {name: value for name, value in corrected.items() if not name.startswith("importance")}
    assert told["engine_gap_max"] == pytest.approx(log(4), abs=1e-12)
    assert engine_correction(replace(ROLLOUTS, rollout_logp=None), FOUND) is FOUND
    unknown = replace(ROLLOUTS, rollout_logp=np.full(4, nan))  # no engine sampled any of it
    assert engine_correction(unknown, FOUND).metrics == FOUND.metrics


def test_normalised_weights_have_mean_one():
    # dividing the weights by their mean 0.9375 is dividing the advantages by it
    found = engine_correction(ROLLOUTS, FOUND, importance="token", importance_normalise=True)
    assert found.advantage.tolist() == pytest.approx([1 / 0.9375] * 2 + [-1 / 0.9375] * 2, abs=1e-12)
    assert engine_correction(ROLLOUTS, FOUND, importance="token").advantage.tolist() == [1, 1, -1, -1]
    assert engine_correction(ROLLOUTS, FOUND).advantage is FOUND.advantage


def test_nothing_is_divided_where_every_token_is_rejected():
    far = replace(ROLLOUTS, rollout_logp=np.full(4, -60.0))
    found = engine_correction(far, FOUND, importance="geometric", importance_normalise=True)
    assert found.advantage.tolist() == [1, 1, -1, -1]
    assert found.metrics["importance_ess"] == 0


def test_equal_weights_are_fully_effective():
    assert effective_fraction(torch.tensor([0.3, 0.3])) == pytest.approx(1)
    assert effective_fraction(torch.tensor([1.0, 0.0])) == pytest.approx(0.5)
    assert mismatch(torch.tensor([nan])) == {}
    assert mismatch(torch.tensor([900.0]))["engine_ratio_max"] == pytest.approx(exp(20), rel=1e-6)
