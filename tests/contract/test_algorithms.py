"""What every loss promises: masked tokens, padding, micro-batches and weights behave; and values by hand."""

import json
import os
from math import log
from pathlib import Path

import pytest
import torch

from agentevol.errors import ConfigError
from agentevol.learn.algorithms import ALGORITHMS, algorithm, option_types
from agentevol.learn.algorithms.contract import Batch, totals
from agentevol.learn.algorithms.sft import sft

LOSSES = [("sft", {}), ("sft", {"dft": True})]


def batch(logp: list, mask: list, weight: list | None = None, whole: Batch | None = None) -> Batch:
    values = torch.tensor(logp, dtype=torch.float64, requires_grad=True)
    masked = torch.tensor(mask, dtype=torch.bool)
    weights = torch.ones_like(values) if weight is None else torch.tensor(weight, dtype=torch.float64)
    return Batch(
        values, masked, weights.detach(), whole.totals if whole else totals(masked, weights.detach())
    )


CASE = {"logp": [log(0.5), log(0.25), -99.0], "mask": [True, True, False], "weight": [1.0, 3.0, 5.0]}


def test_the_sft_loss_is_a_weighted_token_mean():
    # -(1 * ln 1/2 + 3 * ln 1/4) / (1 + 3) = 7/4 ln 2
    assert sft(batch(**CASE)).value.item() == pytest.approx(1.75 * log(2), abs=1e-12)


def test_dft_weights_by_the_tokens_own_probability_without_gradient():
    # -(1 * 1/2 ln 1/2 + 3 * 1/4 ln 1/4) / 4 = (1/2 + 3/2) / 4 ln 2
    data = batch(**CASE)
    loss = sft(data, dft=True).value
    loss.backward()
    assert loss.item() == pytest.approx(0.5 * log(2), abs=1e-12)
    assert data.logp.grad.tolist() == pytest.approx([-0.5 / 4, -0.75 / 4, 0.0])


@pytest.mark.parametrize(
    "change", [{"logp": [log(0.5), log(0.26), -99.0]}, {"mask": [True] * 3}, {"weight": [1.0, 2.0, 5.0]}]
)
def test_the_oracle_notices_a_change(change: dict):
    assert sft(batch(**{**CASE, **change})).value.item() != pytest.approx(1.75 * log(2), abs=1e-3)


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_masked_tokens_change_nothing_and_have_no_gradient(name: str, options: dict):
    loss = algorithm(name, options)
    one, other = (
        batch(**CASE),
        batch(**{**CASE, "logp": [log(0.5), log(0.25), -1.0], "weight": [1.0, 3.0, 0.0]}),
    )
    assert loss(one).value.item() == loss(other).value.item()
    loss(one).value.backward()
    assert one.logp.grad[2] == 0


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_padding_leaves_value_and_gradient_alone(name: str, options: dict):
    loss = algorithm(name, options)
    packed = batch([-1.0, -2.0, -0.5], [True, True, True], [1.0, 1.0, 2.0])
    padded = batch([[-1.0, -2.0, 0.0], [-0.5, 0.0, 0.0]], [[True, True, False], [True, False, False]],
                   [[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]])  # fmt: skip
    for data in (packed, padded):
        loss(data).value.backward()
    assert loss(packed).value.item() == pytest.approx(loss(padded).value.item(), abs=1e-12)
    assert padded.logp.grad[padded.mask].tolist() == pytest.approx(packed.logp.grad.tolist())


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_micro_batches_add_up_to_the_whole_batch(name: str, options: dict):
    loss = algorithm(name, options)
    whole = batch([-1.0, -2.0, -0.5, -3.0], [True, False, True, True], [1.0, 1.0, 2.0, 0.5])
    parts = [
        batch([-1.0], [True], [1.0], whole),
        batch([-2.0, -0.5, -3.0], [False, True, True], [1.0, 2.0, 0.5], whole),
    ]
    values = [loss(part).value for part in parts]
    for value in [*values, loss(whole).value]:
        value.backward()
    assert sum(value.item() for value in values) == pytest.approx(loss(whole).value.item(), abs=1e-12)
    gradients = [gradient for part in parts for gradient in part.logp.grad.tolist()]
    assert gradients == pytest.approx(whole.logp.grad.tolist())


@pytest.mark.parametrize(("name", "options"), LOSSES)
def test_a_common_factor_of_the_weights_and_a_duplicated_data_set_change_nothing(name: str, options: dict):
    loss = algorithm(name, options)
    once = loss(batch(**CASE)).value.item()
    assert loss(batch(**{**CASE, "weight": [7.0, 21.0, 35.0]})).value.item() == pytest.approx(once, abs=1e-12)
    twice = {key: value + value for key, value in CASE.items()}
    assert loss(batch(**twice)).value.item() == pytest.approx(once, abs=1e-12)


@pytest.mark.parametrize("name", sorted(ALGORITHMS))
def test_gradients_agree_with_finite_differences(name: str):
    loss = algorithm(name)
    data = batch(**CASE)
    assert torch.autograd.gradcheck(
        lambda logp: loss(Batch(logp, data.mask, data.weight, data.totals)).value, data.logp
    )


def test_every_algorithm_is_under_these_tests():
    assert {name for name, _ in LOSSES} == set(ALGORITHMS)


def test_options_are_the_keyword_arguments():
    assert option_types(sft) == {"dft": bool}


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sftt", {}, "no algorithm named 'sftt'; there are: sft"),
        ("sft", {"dtf": True}, "no option 'dtf'; there are: dft"),
        ("sft", {"dft": "False"}, "option 'dft' of sft cannot be 'False'"),
    ],
)
def test_unknown_names_and_options_are_errors(name: str, options: dict, message: str):
    with pytest.raises(ConfigError, match=message):
        algorithm(name, options)


def golden_cases() -> list[tuple[dict, dict]]:
    """Each SFT case with its file's tolerance."""
    root = Path(os.environ.get("AGENTEVOL_SHARED", Path(__file__).parents[2].parent / "shared"))
    contents = [
        json.loads(path.read_text(encoding="utf-8")) for path in root.glob("golden/algorithms/*.json")
    ]
    cases = [(case, content["tolerance"]) for content in contents for case in content.get("cases", [])]
    return [(case, tolerance) for case, tolerance in cases if case.get("loss_type") == "sft"]


@pytest.mark.golden
def test_sft_agrees_with_trl(record_property: object):
    cases = golden_cases()
    if not cases:
        pytest.skip("no SFT cases in golden/algorithms under $AGENTEVOL_SHARED or ../shared")
    for case, tolerance in cases:
        data = batch(case["inputs"]["logp"], case["inputs"]["mask"])
        expected = pytest.approx(case["expected"]["loss"], abs=tolerance["abs"], rel=tolerance["rel"])
        assert sft(data).value.item() == expected, case["id"]
        assert data.totals.tokens == case["expected"]["masked_tokens"]
    record_property("golden cases compared", len(cases))
