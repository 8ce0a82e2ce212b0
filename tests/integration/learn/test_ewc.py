"""Elastic weight consolidation on a logistic model whose Fisher information is known."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from agentevol.core.errors import ConfigError
from agentevol.learn.continual.ewc import Consolidation, fisher, load, normalisation, online, penalty, save

Example = tuple[tuple[float, float], int]
"""Features of a one-token sequence, and the token: 1 or -1."""

WEIGHTS = {"w": torch.tensor([0.8, -0.5], dtype=torch.float64, requires_grad=True)}


def mean_logp(example: Example) -> Tensor:
    """log sigmoid(y w x)."""
    features, label = example
    return logsigmoid(label * (WEIGHTS["w"] * torch.tensor(features, dtype=torch.float64)).sum())


def probability(features: tuple[float, float]) -> float:
    return torch.sigmoid(torch.tensor(0.8 * features[0] - 0.5 * features[1], dtype=torch.float64)).item()


def test_with_the_data_s_labels_it_is_the_mean_of_squared_gradients():
    # d/dw log sigmoid(y w x) = y (1 - p_y) x, squared and averaged; x = (1, 2) with y = 1, (3, 0) with y = -1
    data: list[Example] = [((1.0, 2.0), 1), ((3.0, 0.0), -1)]
    first, second = (1 - probability((1.0, 2.0))) ** 2, probability((3.0, 0.0)) ** 2
    expected = [(first * 1 + second * 9) / 2, first * 4 / 2]
    assert fisher(mean_logp, data, WEIGHTS)["w"].tolist() == pytest.approx(expected, rel=1e-12)
    # the square of the mean gradient is another number
    mean = [((1 - probability((1.0, 2.0))) * 1 - probability((3.0, 0.0)) * 3) / 2]
    assert mean[0] ** 2 != pytest.approx(expected[0], rel=0.1)


def test_with_the_policy_s_own_samples_it_is_the_fisher_information():
    # E_y (d log p / dw_j)^2 = p (1 - p) x_j^2; the error of 4000 draws is a few per cent
    random = torch.Generator().manual_seed(0)
    features = (1.0, 2.0)
    p = probability(features)
    draws = torch.where(torch.rand(4000, generator=random) < p, 1, -1).tolist()
    labels = iter(draws)

    def sample(example: Example) -> Example:
        return example[0], next(labels)

    got = fisher(mean_logp, [(features, 1)] * 4000, WEIGHTS, sample=sample)["w"]
    assert got.tolist() == pytest.approx([p * (1 - p), p * (1 - p) * 4], rel=0.05)
    # with exactly the shares that the policy gives, it is exact: p (1 - p)^2 + (1 - p) p^2 = p (1 - p)
    one, other = (fisher(mean_logp, [(features, label)], WEIGHTS)["w"] for label in (1, -1))
    assert (p * one + (1 - p) * other).tolist() == pytest.approx([p * (1 - p), p * (1 - p) * 4], rel=1e-12)
    assert one.tolist() != pytest.approx([p * (1 - p), p * (1 - p) * 4], rel=0.1)


def test_parameters_that_a_sequence_does_not_touch_have_none_and_nothing_is_negative():
    parameters = {**WEIGHTS, "unused": torch.ones(3, requires_grad=True)}
    got = fisher(mean_logp, [((1.0, 0.0), 1)], parameters)
    assert got["unused"].tolist() == [0, 0, 0]
    assert got["w"][1].item() == 0.0
    assert got["w"][0].item() > 0
    with pytest.raises(ConfigError, match="needs sequences"):
        fisher(mean_logp, [], WEIGHTS)


def test_squares_of_half_precision_gradients_do_not_underflow():
    weight = torch.ones(1, dtype=torch.float16, requires_grad=True)
    got = fisher(lambda scale: (weight * scale).sum(), [1e-4], {"w": weight})["w"]
    assert got.dtype == torch.float32
    assert got.item() == pytest.approx(1e-8, rel=0.01)


def test_normalised_information_has_mean_1_over_all_parameters_together():
    information = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([[0.0, 5.0]])}
    assert normalisation(information) == 0.5  # of a mean of (1 + 2 + 0 + 5) / 4 = 2
    # beside a rank whose two parameters add up to 4: (8 + 4) / 6 = 2 as well, and with 16 it is 4
    assert normalisation(information, lambda own: [own, (4.0, 2)]) == 0.5
    assert normalisation(information, lambda own: [own, (16.0, 2)]) == 0.25
    with pytest.raises(ConfigError, match="zero everywhere"):
        normalisation({"a": torch.zeros(2)})


CENTRE = {"a": torch.tensor([1.0, 2.0]), "b": torch.tensor([3.0])}
IMPORTANCE = {"a": torch.tensor([4.0, 0.0]), "b": torch.tensor([1.0])}


def moved(by: float) -> dict[str, Tensor]:
    return {name: (value + by).requires_grad_() for name, value in CENTRE.items()}


def test_the_penalty_is_a_weighted_squared_distance():
    # 0.1 / 2 * (4 * 0.5^2 + 0 * 0.5^2 + 1 * 0.5^2) = 0.0625; gradient 0.1 * F * 0.5
    parameters = moved(0.5)
    value = penalty(parameters, CENTRE, IMPORTANCE)
    value.backward()
    assert value.item() == pytest.approx(0.0625)
    assert parameters["a"].grad is not None
    assert parameters["a"].grad.tolist() == pytest.approx([0.2, 0.0])
    assert penalty(moved(0.6), CENTRE, IMPORTANCE).item() != pytest.approx(0.0625, rel=0.1)


def test_twice_the_distance_costs_four_times_as_much_and_none_costs_nothing():
    once, twice = (penalty(moved(by), CENTRE, IMPORTANCE).item() for by in (0.5, 1.0))
    assert twice == pytest.approx(4 * once)
    still = moved(0.0)
    value = penalty(still, CENTRE, IMPORTANCE)
    value.backward()
    assert value.item() == 0.0
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in still.values())
    assert penalty(moved(0.5), CENTRE, IMPORTANCE, strength=0.0).item() == 0.0


def test_the_penalty_adds_up_over_groups_of_parameters():
    whole = penalty(moved(0.5), CENTRE, IMPORTANCE).item()
    parts = [
        penalty({name: moved(0.5)[name]}, {name: CENTRE[name]}, {name: IMPORTANCE[name]}).item()
        for name in CENTRE
    ]
    assert sum(parts) == pytest.approx(whole)


def test_parameters_that_were_not_stored_are_an_error():
    with pytest.raises(ConfigError, match="do not match what was stored: b"):
        penalty({"a": CENTRE["a"]}, CENTRE, IMPORTANCE)


def test_the_online_form_lets_earlier_stages_fade():
    earlier, new = Consolidation(CENTRE, IMPORTANCE), Consolidation(moved(1.0), IMPORTANCE)
    both = online(earlier, new)
    assert both.fisher["a"].tolist() == pytest.approx([0.9 * 4 + 4, 0.0])
    assert both.weights is new.weights
    with pytest.raises(ConfigError, match="same parameters and kind"):
        online(earlier, replace(new, kind="labels"))


def test_what_is_saved_is_loaded(tmp_path: Path):
    file = tmp_path / "ewc.safetensors"
    save(Consolidation({"a.b": CENTRE["a"]}, {"a.b": IMPORTANCE["a"]}, "labels"), file)
    found = load(file)
    assert found.kind == "labels"
    assert torch.equal(found.weights["a.b"], CENTRE["a"])
    assert torch.equal(found.fisher["a.b"], IMPORTANCE["a"])
    assert [path.name for path in tmp_path.iterdir()] == ["ewc.safetensors"]


def test_a_file_that_is_something_else_is_an_error(tmp_path: Path):
    file = tmp_path / "ewc.safetensors"
    with pytest.raises(ConfigError, match="holds no consolidated weights"):
        load(file)
    file.write_bytes(b"nothing of the kind")
    with pytest.raises(ConfigError, match="holds no consolidated weights"):
        load(file)


def test_a_penalised_fit_stays_where_the_information_is_and_moves_where_it_is_not():
    # minimise (a - 3)^2 / 2 + (b - 3)^2 / 2 + 10 / 2 * (a - 1)^2: a = (3 + 10) / 11, b = 3
    weights = {"x": torch.tensor([1.0, 1.0], dtype=torch.float64)}
    importance = {"x": torch.tensor([1.0, 0.0], dtype=torch.float64)}
    point = weights["x"].clone().requires_grad_()
    for _ in range(500):
        loss = ((point - 3) ** 2).sum() / 2 + penalty({"x": point}, weights, importance, strength=10.0)
        (slope,) = torch.autograd.grad(loss, point)
        point = (point - 0.1 * slope).detach().requires_grad_()
    assert point.tolist() == pytest.approx([13 / 11, 3.0], abs=1e-9)
