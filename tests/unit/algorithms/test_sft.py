"""Supervised fine-tuning by hand and beside TRL."""

from dataclasses import replace
from math import log

import pytest
import torch

from agentevol.core.algorithms.contract import Batch
from agentevol.core.algorithms.registry import algorithm, option_types
from agentevol.learn.algorithms.imitation.sft import sft
from agentevol.learn.algorithms.testing import batch_of, part_of

CASE = {
    "logp": [[log(0.5), -99.0], [log(0.25), -99.0]],
    "mask": [[True, False], [True, False]],
    "weight": [1.0, 3.0],
}


def test_the_sft_loss_is_a_weighted_token_mean():
    # -(1 * ln 1/2 + 3 * ln 1/4) / (1 + 3) = 7/4 ln 2
    assert sft(batch_of(**CASE)).value.item() == pytest.approx(1.75 * log(2), abs=1e-12)


def test_dft_weights_by_the_tokens_own_probability_without_gradient():
    # -(1 * 1/2 ln 1/2 + 3 * 1/4 ln 1/4) / 4 = (1/2 + 3/2) / 4 ln 2
    data = batch_of(**CASE)
    loss = sft(data, dft=True).value
    loss.backward()
    assert loss.item() == pytest.approx(0.5 * log(2), abs=1e-12)
    assert data.logp.grad.tolist() == pytest.approx([-0.5 / 4, -0.75 / 4])


@pytest.mark.parametrize(
    "change",
    [
        {"logp": [[log(0.5), -99.0], [log(0.26), -99.0]]},
        {"mask": [[True, True], [True, False]]},
        {"weight": [1.0, 2.0]},
    ],
)
def test_the_oracle_notices_a_change(change: dict):
    assert sft(batch_of(**{**CASE, **change})).value.item() != pytest.approx(1.75 * log(2), abs=1e-3)


def test_a_common_factor_of_the_weights_and_a_duplicated_data_set_change_nothing():
    once = sft(batch_of(**CASE)).value.item()
    assert sft(batch_of(**{**CASE, "weight": [7.0, 21.0]})).value.item() == pytest.approx(once, abs=1e-12)
    twice = {key: value + value for key, value in CASE.items()}
    assert sft(batch_of(**twice)).value.item() == pytest.approx(once, abs=1e-12)


# Episode 0 of weight 3 has rows of 1 and 2 tokens, nll 1, then 2 and 4; episode 1 of weight 1, one of nll 7.
ROWS = {"logp": [[-1.0, -2.0, -4.0], [-7.0, -99.0, -99.0]], "mask": [[1, 1, 1], [1, 0, 0]], "weight": [3, 1]}
MEANS = {
    "token_mean": (3 * 7 + 7) / (3 * 3 + 1),
    "sequence_mean": (3 * 1 + 3 * 3 + 7) / (3 + 3 + 1),
    "traj_mean": (3 * 7 / 3 + 7) / (3 + 1),
}


def of_three_rows() -> Batch:
    whole = batch_of(**ROWS)
    totals = replace(whole.totals, training_sequence_weight=7.0)
    return replace(whole, training_sequence=torch.tensor([0, 1, 1, 2]), totals=totals)


@pytest.mark.parametrize(("kind", "expected"), MEANS.items())
def test_the_mean_is_one_of_tokens_of_rows_or_of_episodes(kind: str, expected: float):
    assert sft(of_three_rows(), aggregation=kind).value.item() == pytest.approx(expected, abs=1e-12)
    others = [value for other, value in MEANS.items() if other != kind]
    assert all(value != pytest.approx(expected, abs=1e-3) for value in others)


@pytest.mark.parametrize("kind", MEANS)
def test_every_mean_adds_up_over_micro_batches_and_ignores_a_common_factor(kind: str):
    whole = of_three_rows()
    parts = [sft(part_of(whole, [number]), aggregation=kind).value.item() for number in (0, 1)]
    assert sum(parts) == pytest.approx(MEANS[kind], abs=1e-12)
    doubled = {
        name: 2 * getattr(whole.totals, name)
        for name in ("weight", "training_sequence_weight", "sequence_weight")
    }
    heavy = replace(whole, weight=2 * whole.weight, totals=replace(whole.totals, **doubled))
    assert sft(heavy, aggregation=kind).value.item() == pytest.approx(MEANS[kind], abs=1e-12)


def test_options_are_the_keyword_arguments():
    assert list(option_types(algorithm("sft"))) == ["dft", "aggregation"]
