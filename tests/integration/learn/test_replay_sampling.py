"""Mixtures with earlier episodes, and holding a policy near an earlier one."""

from collections import Counter
from math import exp, log, sqrt

import numpy as np
import pytest
import torch

from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.testing import batch_of, part_of
from agentevol.learn.continual.distillation import distillation
from agentevol.learn.continual.interpolation import interpolated
from agentevol.learn.continual.replay_sampling import Candidate, mixture, reservoir, stratified
from agentevol.learn.network.log_probabilities import full_divergence

NEW = [Candidate("house", 10)] * 80
EARLIER = [Candidate("maze", 10)] * 300 + [Candidate("shop", 10)] * 100


def share(chosen: list[int], environment: str, earlier: list[Candidate] = EARLIER) -> float:
    return sum(earlier[index].environment == environment for index in chosen) / len(chosen)


def test_replayed_tokens_make_up_the_fraction_of_all():
    # 800 new tokens at 0.2: 200 replayed of 1000
    chosen = mixture(NEW, EARLIER)
    assert len(chosen) == len(set(chosen)) == 20
    assert len(mixture(NEW, EARLIER, fraction=0.5)) == 80


def test_a_fraction_of_0_replays_nothing():
    assert mixture(NEW, EARLIER, fraction=0.0) == []
    assert mixture(NEW, []) == []


def test_the_same_seed_gives_the_same_mixture():
    assert mixture(NEW, EARLIER, seed=3) == mixture(NEW, EARLIER, seed=3)
    assert mixture(NEW, EARLIER, seed=3) != mixture(NEW, EARLIER, seed=4)


def test_environments_are_drawn_by_their_share_of_the_sequences():
    # half of 8000 sequences replayed evenly from 75 % maze: 8000 draws, 5 standard errors
    earlier = EARLIER * 100
    chosen = mixture(NEW * 100, earlier, fraction=0.5, floor=0.0)
    assert len(chosen) == 8000
    assert share(chosen, "maze", earlier) == pytest.approx(0.75, abs=5 * sqrt(0.75 * 0.25 / 8000))


def test_a_rare_environment_gets_its_floor_by_repeating_its_sequences():
    # 1000 tokens in all: a floor of 0.05 is 50, one sequence of 10 five times; without it, one in 401 is rare
    earlier = [*EARLIER, Candidate("ship", 10)]
    chosen = mixture(NEW, earlier, floor=0.05)
    assert Counter(chosen)[400] >= 5
    assert len(chosen) == 20
    assert Counter(mixture(NEW, earlier, floor=0.0))[400] <= 1


def test_what_is_new_counts_towards_the_floor():
    earlier = [*EARLIER, Candidate("house", 10)]
    assert Counter(mixture(NEW, earlier, floor=0.05))[400] <= 1


def test_floors_that_do_not_fit_into_the_fraction_are_an_error():
    earlier = [Candidate(f"world {number}", 10) for number in range(30)]
    with pytest.raises(ConfigError, match=r"needs 300 replayed tokens, but a fraction of 0\.2 allows 200"):
        mixture(NEW, earlier)
    with pytest.raises(ConfigError, match="fraction and floor lie in"):
        mixture(NEW, EARLIER, fraction=1.0)
    with pytest.raises(ConfigError, match="needs a trained token"):
        mixture(NEW, [Candidate("maze", 0)])


def test_few_sequences_are_repeated_only_after_all_had_their_turn():
    chosen = mixture(NEW, EARLIER[:8], floor=0.0)
    assert sorted(Counter(chosen).values()) == [2, 2, 2, 2, 3, 3, 3, 3]


def test_a_reservoir_keeps_every_item_with_the_same_probability():
    # 4 of 20, over 4000 seeds: each 800 times, 5 standard errors are 5 * sqrt(4000 * 0.2 * 0.8) = 126
    counts = Counter(item for seed in range(4000) for item in reservoir(iter(range(20)), 4, seed))
    assert sum(counts.values()) == 16_000
    assert all(abs(counts[item] - 800) < 127 for item in range(20))
    assert reservoir([1, 2], 4, 0) == [1, 2]
    assert reservoir(range(20), 4, 7) == reservoir(range(20), 4, 7)


def test_strata_are_drawn_as_evenly_as_their_sizes_allow():
    strata = [("maze", True)] * 2 + [("maze", False)] * 50 + [("shop", False)] * 50
    chosen = stratified(strata, 20, 0)
    assert Counter(strata[index] for index in chosen) == {
        ("maze", True): 2,
        ("maze", False): 9,
        ("shop", False): 9,
    }
    assert len(set(chosen)) == 20
    assert stratified(strata, 20, 0) == chosen != stratified(strata, 20, 1)
    assert len(stratified(strata, 1000, 0)) == 102


def test_an_odd_place_is_not_always_the_same_stratum_s():
    firsts = Counter(stratified(["a", "b"], 1, seed)[0] for seed in range(200))
    assert min(firsts[0], firsts[1]) > 60


def test_distillation_is_the_estimate_of_the_divergence_from_the_earlier_policy():
    # ratio learnt / earlier = 2 and 1: (2 - 1 - ln 2 + 0) / 2, times 0.1; its gradient is (ratio - 1) / 2
    data = batch_of([[log(0.5), log(0.3)]], [[1, 1]], ref_logp=[[log(0.25), log(0.3)]])
    loss = distillation(data)
    loss.value.backward()
    assert loss.value.item() == pytest.approx(0.05 * (1 - log(2)), abs=1e-12)
    assert loss.metrics["distillation_kl"] == pytest.approx((1 - log(2)) / 2)
    assert data.logp.grad is not None
    assert data.logp.grad.tolist() == pytest.approx([0.05, 0.0], abs=1e-12)


def test_equal_policies_have_no_divergence_and_others_a_positive_one():
    logp = [[-0.3, -2.0, -7.0]]
    assert distillation(batch_of(logp, [[1, 1, 1]], ref_logp=logp)).value.item() == 0.0
    for change in (0.5, -0.5, 60.0, -60.0):
        loss = distillation(batch_of(logp, [[1, 1, 1]], ref_logp=[[value - change for value in logp[0]]]))
        assert 0 < loss.value.item() < float("inf")


def test_the_estimate_is_on_average_the_divergence_over_the_vocabulary():
    earlier = torch.tensor([0.7, 0.2, 0.1], dtype=torch.float64)
    learnt = torch.tensor([0.5, 0.1, 0.4], dtype=torch.float64)
    exact = full_divergence(earlier.log()[None], learnt.log()[None]).item()
    assert exact == pytest.approx(0.7 * log(1.4) + 0.2 * log(2) + 0.1 * log(0.25), abs=1e-12)
    per_token = [
        distillation(batch_of([[new.log().item()]], [[1]], ref_logp=[[old.log().item()]]), strength=1.0)
        for old, new in zip(earlier, learnt, strict=True)
    ]
    mean = sum(p.item() * loss.value.item() for p, loss in zip(earlier, per_token, strict=True))
    assert mean == pytest.approx(exact, abs=1e-12)
    backwards = full_divergence(learnt.log()[None], earlier.log()[None]).item()
    assert mean != pytest.approx(backwards, abs=1e-3)


def test_a_token_that_the_earlier_policy_never_says_adds_nothing():
    earlier = torch.tensor([[0.0, float("-inf")]])
    assert full_divergence(earlier, torch.tensor([[0.5, 0.5]]).log()).item() == pytest.approx(log(2))


def test_micro_batches_of_distillation_add_up():
    data = batch_of([[-1.0, -2.0], [-0.5, -3.0]], [[1, 1], [1, 0]], ref_logp=[[-2.0, -1.0], [-1.0, 0.0]])
    parts = [distillation(part_of(data, [number])).value.item() for number in range(2)]
    assert sum(parts) == pytest.approx(distillation(data).value.item(), abs=1e-15)


def test_weights_are_mixed_by_their_shares():
    previous, new = {"w": torch.tensor([0.0, 4.0])}, {"w": torch.tensor([1.0, 2.0])}
    assert interpolated(previous, new, 0.25)["w"].tolist() == [0.25, 3.5]
    assert torch.equal(interpolated(previous, new, 0.0)["w"], previous["w"])
    assert torch.equal(interpolated(previous, new, 1.0)["w"], new["w"])


def test_half_precision_is_kept_and_rounded_once_and_whole_numbers_are_the_new_ones():
    previous = {"w": torch.tensor([1.0], dtype=torch.bfloat16), "steps": torch.tensor(3)}
    new = {"w": torch.tensor([1.0078125], dtype=torch.bfloat16), "steps": torch.tensor(5)}
    mixed = interpolated(previous, new, 0.9)
    assert mixed["w"].dtype == torch.bfloat16
    assert mixed["w"].item() == 1.0078125  # 1.00703 rounds to it
    assert mixed["steps"].item() == 5


def test_checkpoints_of_other_models_are_not_mixed():
    with pytest.raises(ConfigError, match="different models cannot be mixed: v"):
        interpolated({"w": torch.zeros(1)}, {"w": torch.zeros(1), "v": torch.zeros(1)}, 0.5)
    with pytest.raises(ConfigError, match="a share lies in"):
        interpolated({}, {}, 1.5)


def test_the_gradient_of_an_unlikely_token_is_bounded():
    # ln ratio 60 is clamped at 20: beyond it no gradient, where exp(60) would end the run
    data = batch_of([[-1.0]], [[1]], ref_logp=[[-61.0]])
    loss = distillation(data, strength=1.0)
    loss.value.backward()
    assert loss.value.item() == pytest.approx(exp(20) - 21)
    assert data.logp.grad is not None
    assert np.isfinite(data.logp.grad.item())
