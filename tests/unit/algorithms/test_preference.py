"""DPO, IPO, KTO and ORPO by hand, and what holds for all of them."""

from dataclasses import replace
from math import exp, log
from typing import Any

import pytest
import torch

from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import algorithm, objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.preference.dpo import dpo
from agentevol.learn.algorithms.preference.ipo import ipo
from agentevol.learn.algorithms.preference.kto import kto, kto_losses, reference_point
from agentevol.learn.algorithms.preference.orpo import log_odds_ratio, orpo
from agentevol.learn.algorithms.testing import batch_of, example_batch, part_of

# Two pairs, sums of logp - ref_logp: chosen 1 and 0, rejected -2 and 3; so c - r = 3 and -3.
CASE: dict[str, Any] = {
    "logp": [[-0.5, -0.5], [-2.0, -9.0], [-1.0, -2.0], [-0.5, -0.5]],
    "ref_logp": [[-1.0, -1.0], [0.0, -9.0], [-2.0, -1.0], [-2.0, -2.0]],
    "mask": [[1, 1], [1, 0], [1, 1], [1, 1]],
    "unit": [0, 0, 1, 1],
    "side": [1, -1, 1, -1],
    "margin": [0.5, 0.5, 0.0, 0.0],
}


def sigmoid(x: float) -> float:
    return 1 / (1 + exp(-x))


def pairs(**changes: Any) -> Batch:
    return batch_of(**{**CASE, **changes})


def gradient(batch: Batch, value: torch.Tensor) -> list[float]:
    return torch.autograd.grad(value, batch.logp)[0].tolist()


def test_dpo_by_hand():
    # beta 0.1: (-log sigmoid(0.3) - log sigmoid(-0.3)) / 2
    expected = (-log(sigmoid(0.3)) - log(sigmoid(-0.3))) / 2
    assert dpo(pairs()).value.item() == pytest.approx(expected, abs=1e-12)


def test_hinge_by_hand():
    # beta 0.5: (max(0, 1 - 1.5) + max(0, 1 + 1.5)) / 2 = 1.25
    assert dpo(pairs(), beta=0.5, form="hinge").value.item() == pytest.approx(1.25, abs=1e-12)


def test_label_smoothing_by_hand():
    # both signs of 0.3 occur once, so that smoothing changes nothing; with the second pair turned round
    # it is 0.8 * -log sigmoid(0.3) + 0.2 * -log sigmoid(-0.3)
    assert dpo(pairs(), label_smoothing=0.2).value.item() == pytest.approx(dpo(pairs()).value.item())
    turned = dpo(pairs(side=[1, -1, -1, 1]), label_smoothing=0.2).value.item()
    assert turned == pytest.approx(-0.8 * log(sigmoid(0.3)) - 0.2 * log(sigmoid(-0.3)), abs=1e-12)


def test_length_normalisation_by_hand():
    # means 0.5, -2, 0, 1.5; mean length (2 + 1 + 2 + 2) / 4 = 1.75; gaps 2.5 * 1.75 and -1.5 * 1.75
    expected = (-log(sigmoid(0.1 * 4.375)) - log(sigmoid(-0.1 * 2.625))) / 2
    assert dpo(pairs(), length_normalize=True).value.item() == pytest.approx(expected, abs=1e-12)


def test_the_margin_and_the_likelihood_by_hand():
    # margins 0.5 and 0 with factor 2: gaps 0.3 - 1 and -0.3
    expected = (-log(sigmoid(-0.7)) - log(sigmoid(-0.3))) / 2
    assert dpo(pairs(), margin_coef=2.0).value.item() == pytest.approx(expected, abs=1e-12)
    # chosen mean log-probabilities -0.5 and -1.5: their negative mean is 1
    plain = dpo(pairs()).value.item()
    assert dpo(pairs(), nll_coef=0.3).value.item() == pytest.approx(plain + 0.3, abs=1e-12)


def test_ipo_by_hand():
    # width 1 / (2 * 0.1) = 5. Means: gaps 2.5 and -1.5, (2.5^2 + 6.5^2) / 2 = 24.25
    assert ipo(pairs()).value.item() == pytest.approx(24.25, abs=1e-12)
    # sums: gaps 3 and -3, (2^2 + 8^2) / 2 = 34
    assert ipo(pairs(), length_normalize=False).value.item() == pytest.approx(34.0, abs=1e-12)


def test_kto_by_hand():
    # x = 1, -2, 0, 3, their mean 0.5 is the reference point; desirable are the first and the third
    desirable = (1 - sigmoid(0.1 * 0.5)) + (1 - sigmoid(0.1 * -0.5))
    undesirable = (1 - sigmoid(0.1 * 2.5)) + (1 - sigmoid(0.1 * -2.5))
    expected = (1.7 * desirable + undesirable) / 4
    assert kto(pairs(), desirable_weight=1.7).value.item() == pytest.approx(expected, abs=1e-12)
    # z = 0: x and z - x are 1, 0 and 2, -3
    zero = (2 - sigmoid(0.1) - sigmoid(0.0)) + (2 - sigmoid(0.2) - sigmoid(-0.3))
    assert kto(pairs(), kto_reference="zero").value.item() == pytest.approx(zero / 4, abs=1e-12)


def test_ktos_weights_are_the_options_times_the_sequences_own():
    weighted = kto(pairs(weight=[3.0, 1.0, 3.0, 1.0])).value.item()
    assert weighted == pytest.approx(kto(pairs(), desirable_weight=3.0).value.item(), abs=1e-12)


def test_orpo_by_hand():
    # means -0.5 and -2, -1.5 and -0.5; odds(p) = p / (1 - p)
    def log_odds(mean: float) -> float:
        return mean - log(1 - exp(mean))

    odds = [log_odds(-0.5) - log_odds(-2.0), log_odds(-1.5) - log_odds(-0.5)]
    expected = sum(nll - 0.1 * log(sigmoid(o)) for nll, o in zip((0.5, 1.5), odds, strict=True)) / 2
    loss = orpo(pairs())
    assert loss.value.item() == pytest.approx(expected, abs=1e-12)
    assert loss.metrics["log_odds_ratio"] == pytest.approx(sum(odds) / 2)
    assert loss.metrics["nll"] == pytest.approx(1.0)


LOSSES = {"dpo": dpo, "ipo": ipo, "kto": kto, "orpo": orpo}


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "change",
    [
        {"logp": [[-0.5, -0.6], [-2.0, -9.0], [-1.0, -2.0], [-0.5, -0.5]]},
        {"mask": [[1, 1], [1, 0], [1, 0], [1, 1]]},
        {"side": [-1, 1, 1, -1]},
    ],
)
def test_the_oracle_notices_a_change(name: str, change: dict):
    loss = LOSSES[name]
    assert loss(pairs(**change)).value.item() != pytest.approx(loss(pairs()).value.item(), abs=1e-4)


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (dpo, log(2)),
        (lambda batch: dpo(batch, form="hinge"), 1.0),
        (ipo, 1 / (4 * 0.1**2)),
        (lambda batch: ipo(batch, length_normalize=False), 1 / (4 * 0.1**2)),
        (lambda batch: kto(batch, desirable_weight=3.0), 0.5 * (3 + 1 + 3 + 1) / 4),
    ],
)
def test_the_loss_of_a_policy_that_is_the_reference(loss: Any, expected: float):
    batch = pairs()
    assert loss(replace(batch, ref_logp=batch.logp.detach())).value.item() == pytest.approx(expected)


def test_dpos_gradient_at_the_reference_is_half_of_beta_to_either_side():
    # -beta/2 (grad c - grad r) of each pair, over 2 pairs: -+0.1 / 2 / 2 at each token
    batch = pairs()
    batch = replace(batch, ref_logp=batch.logp.detach())
    assert gradient(batch, dpo(batch).value) == pytest.approx(
        [-0.025] * 2 + [0.025] + [-0.025] * 2 + [0.025] * 2
    )


def test_swapping_the_sides_negates_the_gap():
    # -log sigmoid(x) + log sigmoid(-x) = -x, so DPO(pair) - DPO(swapped pair) = -beta (c - r)
    batch = part_of(pairs(), [0, 1])
    swapped = replace(batch, side=-batch.side)
    difference = 2 * (dpo(batch).value - dpo(swapped).value).item()  # the totals are those of two pairs
    assert difference == pytest.approx(-0.1 * 3)
    assert dpo(batch).metrics["reward_margin"] == pytest.approx(-dpo(swapped).metrics["reward_margin"])


def test_ipo_is_least_where_the_gap_is_the_width():
    # means 5 and 0 apart: c/n - r/n = 5 = 1 / (2 * 0.1)
    there = batch_of(
        [[-1.0, -1.0], [-6.0, -9.0]], [[1, 1], [1, 0]], ref_logp=[[-6.0] * 2] * 2, unit=[0, 0], side=[1, -1]
    )
    value = ipo(there).value
    assert value.item() == pytest.approx(0.0, abs=1e-12)
    assert gradient(there, value) == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)


def test_each_loss_of_kto_lies_between_0_and_its_weight():
    x = torch.linspace(-100, 100, 41, dtype=torch.float64)
    for desirable in (True, False):
        losses = kto_losses(
            x, 1.0, torch.full(x.shape, desirable), desirable_weight=2.0, undesirable_weight=3.0
        )
        assert bool((losses > 0).all())
        assert bool((losses < (2.0 if desirable else 3.0)).all())


def test_ktos_reference_point_is_at_least_0_and_has_no_gradient():
    ratios = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert reference_point(ratios).item() == 1.5
    assert reference_point(-ratios).item() == 0.0
    assert not reference_point(ratios).requires_grad
    # so each gradient is that of its own term: -+beta s (1 - s) over 4 sequences, s at +-0.1 (x - 0.5)
    batch = pairs()
    by_sequence = [
        -sign * 0.1 * sigmoid(0.1 * (x - 0.5)) * sigmoid(-0.1 * (x - 0.5)) / 4
        for sign, x in zip((1, -1, 1, -1), (1.0, -2.0, 0.0, 3.0), strict=True)
    ]
    expected = [by_sequence[number] for number in (0, 0, 1, 2, 2, 3, 3)]
    assert gradient(batch, kto(batch).value) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("side", [1, -1])
def test_kto_with_one_kind_alone_is_the_mean_over_it(side: int):
    batch = batch_of([[-1.0]] * 2, [[1]] * 2, ref_logp=[[-1.0]] * 2, side=[side] * 2)
    loss = kto(batch, desirable_weight=2.0, undesirable_weight=2.0)
    assert loss.value.item() == pytest.approx(1.0)
    assert ("reward_desirable" in loss.metrics) == (side == 1)


def test_orpo_of_equally_likely_sides_is_the_likelihood_and_beta_ln_2():
    batch = batch_of([[-0.7, -0.9], [-0.8, 0.0]], [[1, 1], [1, 0]], unit=[0, 0], side=[1, -1])
    assert orpo(batch, beta=0.3).value.item() == pytest.approx(0.8 + 0.3 * log(2))


def test_the_odds_are_exact_for_tiny_and_for_certain_probabilities():
    # p = e^-50: odds = p; p = 1 - 1e-7 at most: odds = 1e7
    tiny, certain = torch.tensor([-50.0], dtype=torch.float64), torch.tensor([-1e-30], dtype=torch.float64)
    half = torch.tensor([log(0.5)], dtype=torch.float64)
    assert log_odds_ratio(tiny, half).item() == pytest.approx(-50.0)
    assert log_odds_ratio(certain, half).item() == pytest.approx(log(1e7), rel=1e-6)
    leaf = torch.tensor([-1e-30, -60.0], dtype=torch.float64, requires_grad=True)
    log_odds_ratio(leaf, leaf.detach() - 1).sum().backward()
    assert leaf.grad is not None
    assert bool(leaf.grad.isfinite().all())


@pytest.mark.parametrize("name", ["dpo", "ipo", "kto"])
def test_a_constant_added_to_policy_and_reference_changes_nothing(name: str):
    batch = pairs()
    moved = replace(batch, logp=batch.logp - 0.3, ref_logp=batch.ref_logp - 0.3)
    assert LOSSES[name](moved).value.item() == pytest.approx(LOSSES[name](batch).value.item())


def test_orpo_does_notice_a_constant():
    batch = pairs()
    moved = orpo(replace(batch, logp=batch.logp - 0.3)).value.item()
    assert moved != pytest.approx(orpo(batch).value.item(), abs=1e-2)


def test_a_pair_of_identical_sides_has_a_constant_loss_and_no_gradient():
    # learnt through one tensor, as identical token ids are: the gradients of both sides cancel
    logp = torch.tensor([-1.0, -2.0], dtype=torch.float64, requires_grad=True)
    both = batch_of(
        torch.stack([logp, logp]), [[1, 1]] * 2, ref_logp=[[-1.5, -1.5]] * 2, unit=[0, 0], side=[1, -1]
    )
    value = dpo(both).value
    assert value.item() == pytest.approx(log(2))
    assert torch.autograd.grad(value, logp)[0].tolist() == [0.0, 0.0]


def test_metrics_by_hand():
    metrics = dpo(pairs()).metrics
    assert metrics == pytest.approx(
        {
            "accuracy": 0.5,  # c > r in the first pair alone
            "reward_chosen": 0.1 * (1 + 0) / 2,
            "reward_rejected": 0.1 * (-2 + 3) / 2,
            "reward_margin": 0.0,
            "logp_chosen": (-1.0 - 3.0) / 2,
            "logp_rejected": (-2.0 - 1.0) / 2,
            "length_difference": ((2 - 1) + (2 - 2)) / 2,
            "log_ratio_chosen": 0.5,
        }
    )
    assert kto(pairs()).metrics == pytest.approx(
        {"reference_point": 0.5, "kl": 0.5, "reward_desirable": 0.05, "reward_undesirable": 0.05}
    )


@pytest.mark.parametrize("name", ["dpo", "ipo", "orpo"])
def test_metrics_of_micro_batches_add_up(name: str):
    whole = example_batch(algorithm(name), seed=7)
    parts = [LOSSES[name](part_of(whole, [first, first + 1])).metrics for first in range(0, 8, 2)]
    for key, value in LOSSES[name](whole).metrics.items():
        assert sum(part[key] for part in parts) == pytest.approx(value), key


@pytest.mark.parametrize("loss", [dpo, ipo, orpo])
@pytest.mark.parametrize(
    "changes",
    [{"side": [1, 1, 1, -1]}, {"unit": [0, 0, 0, 0]}, {"side": [1, -1, 1, 0]}, {"unit": [0, 1, 2, 3]}],
)
def test_what_is_no_pair_is_refused(loss: Any, changes: dict):
    with pytest.raises(ValueError, match="a pair is one chosen and one rejected sequence"):
        loss(pairs(**changes))


def test_kto_refuses_a_part_of_a_batch_and_sequences_without_a_side():
    with pytest.raises(ValueError, match="KTO needs all 4 sequences at once, not 2"):
        kto(part_of(pairs(), [0, 1]))
    with pytest.raises(ValueError, match="one has side 0"):
        kto(pairs(side=[1, -1, 0, 1]))


def test_label_smoothing_is_refused_beside_hinge():
    with pytest.raises(ConfigError, match="'label_smoothing' of dpo has no effect: 'form' is 'hinge'"):
        objective("dpo", {"form": "hinge", "label_smoothing": 0.1})


def test_orpo_needs_no_reference():
    assert objective("orpo").needs == frozenset()
    assert objective("dpo").needs == {"ref_logp"}
    bare = batch_of(CASE["logp"], CASE["mask"], unit=CASE["unit"], side=CASE["side"])
    assert orpo(bare).value.item() == orpo(pairs()).value.item()


def test_ktos_mismatched_point_is_the_mean_over_sequences_of_side_0_and_has_no_gradient():
    # x of what is learnt: 1 and -2; of what lies beside it: 0.5 and 1.5, so z = 1
    batch = batch_of(
        [[-1.0]] * 4,
        [[1]] * 4,
        ref_logp=[[-2.0], [1.0], [-1.5], [-2.5]],
        side=[1, -1, 0, 0],
        unit=[0, 1, 0, 1],
    )
    loss = kto(batch, kto_reference="mismatched")
    assert loss.metrics["reference_point"] == pytest.approx(1.0)
    assert loss.value.item() == pytest.approx((1 - sigmoid(0.0) + 1 - sigmoid(0.3)) / 2, abs=1e-12)
    first, second, *beside = gradient(batch, loss.value)
    assert (first, second) == pytest.approx((-0.1 * 0.25 / 2, 0.1 * sigmoid(0.3) * sigmoid(-0.3) / 2))
    assert beside == [0.0, 0.0]


def test_a_batch_with_nothing_beside_has_a_mismatched_point_of_0():
    batch = pairs()
    zero = kto(batch, beta=1.0, kto_reference="zero").value.item()
    assert kto(batch, beta=1.0, kto_reference="mismatched").value.item() == zero
    assert kto(batch, beta=1.0).value.item() != pytest.approx(zero, abs=1e-3)


def test_orpos_likelihood_can_cover_everything_in_the_chosen_row():
    # the chosen side's learnt token -0.5; its row has that and a prompt token of -3.5: a mean of -2
    batch = batch_of(
        [[-0.5, 0.0], [-1.0, 0.0], [-3.5, -0.5]], [[1, 0], [1, 0], [1, 1]], side=[1, -1, 0], unit=[0, 0, 0]
    )
    narrow, whole = orpo(batch), orpo(batch, nll_scope="all")
    assert (narrow.metrics["nll"], whole.metrics["nll"]) == pytest.approx((0.5, 2.0))
    assert whole.value.item() - narrow.value.item() == pytest.approx(1.5, abs=1e-12)
    assert gradient(batch, whole.value)[2:] == pytest.approx([-0.5, -0.5])


def test_orpo_refuses_pairs_without_their_whole_sequence():
    with pytest.raises(ValueError, match="one sequence of side 0 with everything in its chosen sequence"):
        orpo(pairs(), nll_scope="all")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("dpo", {"beta": 0}, "'beta' of dpo cannot be 0: Input should be greater than 0"),
        ("dpo", {"label_smoothing": 0.5}, "less than 0.5"),
        ("dpo", {"nll_coef": -1.0}, "greater than or equal to 0"),
        ("ipo", {"beta": 0.0}, "'beta' of ipo"),
        ("kto", {"beta": -0.1}, "'beta' of kto"),
        ("kto", {"desirable_weight": -1.0}, "'desirable_weight' of kto"),
        ("orpo", {"beta": float("nan")}, "'beta' of orpo cannot be nan"),
        ("ranking", {"beta": 0.0}, "'beta' of ranking"),
        ("ranking", {"top_k": -1}, "'top_k' of ranking"),
        ("adpo", {"tau": 0.0}, "'tau' of adpo"),
        ("adpo", {"beta_reward": 0.0}, "'beta_reward' of adpo"),
        ("adpo", {"tau_min": 0.0}, "'tau_min' of adpo"),
        ("softmax_bc", {"temperature": 0.0}, "'temperature' of softmax_bc"),
        ("filtered_bc", {"threshold": float("nan")}, "'threshold' of filtered_bc"),
        ("agentevol", {"minimum": float("inf")}, "'minimum' of agentevol"),
        ("weighted_bc", {"weighting": "advantage", "max_weight": 0.0}, "'max_weight' of weighted_bc"),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        objective(name, options)


@pytest.mark.parametrize("name", ["dpo", "orpo", "bradley_terry"])
def test_a_certain_pair_has_the_loss_of_one_without_a_probability(name: str):
    bound = objective(name)
    batch = example_batch(bound.algorithm, 3)
    certain = replace(batch, preference=torch.ones_like(batch.preference))
    assert bound.algorithm.soft_pairs
    assert bound.loss(certain).value.item() == bound.loss(batch).value.item()
    soft = replace(batch, preference=torch.full_like(batch.preference, 0.7))
    assert bound.loss(soft).value.item() != pytest.approx(bound.loss(batch).value.item(), abs=1e-4)


def test_a_soft_pair_by_hand():
    # gaps 0.3 with p = 0.8, and -0.3 with p = 1
    found = dpo(pairs(preference=[0.8, 0.8, 1.0, 1.0])).value.item()
    first = -0.8 * log(sigmoid(0.3)) - 0.2 * log(sigmoid(-0.3))
    assert found == pytest.approx((first - log(sigmoid(-0.3))) / 2, abs=1e-12)


def test_a_soft_pair_is_the_opposite_one_with_the_rest_of_the_probability():
    one = dpo(pairs(preference=[0.8] * 4)).value.item()
    other = dpo(pairs(preference=[0.2] * 4, side=[-1, 1, -1, 1])).value.item()
    assert one == pytest.approx(other, abs=1e-12)


def test_smoothing_swaps_a_share_of_soft_pairs():
    # p = 0.8 and 10 % swapped: right with 0.8 * 0.9 + 0.2 * 0.1 = 0.74
    smoothed = dpo(pairs(preference=[0.8] * 4), label_smoothing=0.1).value.item()
    assert smoothed == pytest.approx(dpo(pairs(preference=[0.74] * 4)).value.item(), abs=1e-12)


def test_orpos_odds_are_soft_and_its_likelihood_is_not():
    hard, soft = orpo(pairs()).value.item(), orpo(pairs(preference=[0.5] * 4)).value.item()
    odds = orpo(pairs()).metrics["log_odds_ratio"]
    # log sigmoid(o) - log sigmoid(-o) = o, of which a half is lost
    assert soft == pytest.approx(hard + 0.1 * odds / 2, abs=1e-12)


def test_losses_without_a_logistic_form_do_not_read_the_probability():
    batch = pairs(preference=[0.6] * 4)
    assert not algorithm("ipo").soft_pairs
    assert not objective("dpo", {"form": "hinge"}).algorithm.soft_pairs
    assert ipo(batch).value.item() == ipo(pairs()).value.item()
    assert dpo(batch, form="hinge").value.item() == dpo(pairs(), form="hinge").value.item()
