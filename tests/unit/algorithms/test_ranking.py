"""Plackett-Luce by hand and by brute force over all orders."""

from itertools import pairwise, permutations
from math import exp, factorial, log
from typing import Any, Literal

import pytest
import torch

from agentevol.core.algorithms.contract import MOST_TIED
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.preference.ranking import plackett_luce, ranking
from agentevol.learn.algorithms.testing import batch_of, example_batch, part_of


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def loss(scores: tuple[float, ...], rewards: tuple[float, ...], **options: Any) -> float:
    return plackett_luce(tensor(*scores), tensor(*rewards), **options).item()


def of_order(scores: list[float], places: int) -> float:
    """The negative log-likelihood of scores that stand in their order already, of the first places."""
    return sum(log(sum(exp(s) for s in scores[j:])) - scores[j] for j in range(places))


def test_three_places_by_hand():
    # best first: 0 (reward 3), ln 2 (reward 2), ln 3 (reward 1)
    # -ln(1 / (1 + 2 + 3)) - ln(2 / (2 + 3)) = ln 6 + ln 5/2 = ln 15
    assert loss((0.0, log(2), log(3)), (3, 2, 1)) == pytest.approx(log(15))


@pytest.mark.parametrize("change", [((0.1, log(2), log(3)), (3, 2, 1)), ((0.0, log(2), log(3)), (1, 2, 3))])
def test_the_oracle_notices_a_change(change: tuple):
    assert loss(*change) != pytest.approx(log(15), abs=1e-2)


def test_two_places_are_bradley_terry():
    assert loss((0.7, 0.2), (1, 0)) == pytest.approx(-log(1 / (1 + exp(-0.5))))


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_equal_scores_cost_the_logarithm_of_the_number_of_orders(count: int):
    assert loss((0.4,) * count, tuple(range(count))) == pytest.approx(log(factorial(count)))


@pytest.mark.parametrize("ties", ["average", "drop"])
def test_a_shift_of_all_scores_changes_nothing(ties: Literal["average", "drop"]):
    scores, rewards = (0.3, -1.0, 2.0, 0.0), (1.0, 0.5, 0.5, 0.0)
    moved = tuple(score + 100 for score in scores)
    assert loss(moved, rewards, ties=ties) == pytest.approx(loss(scores, rewards, ties=ties))


def test_top_k_drops_the_later_places():
    scores = (0.3, -1.0, 2.0, 0.0)
    terms = [of_order(list(scores), k) for k in (1, 2, 3)]
    assert [loss(scores, (4, 3, 2, 1), top_k=k) for k in (1, 2, 3)] == pytest.approx(terms)
    assert loss(scores, (4, 3, 2, 1), top_k=4) == pytest.approx(terms[-1])
    assert loss(scores, (4, 3, 2, 1), top_k=0) == pytest.approx(terms[-1])


@pytest.mark.parametrize("rewards", [(1, 1, 0, 0, 0), (2, 1, 1, 1, 0), (1, 1, 1, 1, 1), (3, 3, 2, 1, 1)])
@pytest.mark.parametrize("top_k", [0, 1, 2, 3, 4])
def test_averaged_ties_are_the_mean_over_their_orders(rewards: tuple, top_k: int):
    scores = (0.3, -1.0, 2.0, 0.0, 0.7)
    orders = [
        order for order in permutations(range(5)) if all(rewards[a] >= rewards[b] for a, b in pairwise(order))
    ]
    places = min(top_k or 5, 4)
    expected = [of_order([scores[number] for number in order], places) for order in orders]
    assert loss(scores, rewards, top_k=top_k) == pytest.approx(sum(expected) / len(expected))


def test_dropped_ties_compete_with_what_is_strictly_worse():
    # two best with scores 0 and ln 2 against ln 3: ln(1 + 3) - 0 and ln(2 + 3) - ln 2
    assert loss((0.0, log(2), log(3)), (1, 1, 0), ties="drop") == pytest.approx(log(4) + log(2.5))
    # one place of the two tied: half of it
    assert loss((0.0, log(2), log(3)), (1, 1, 0), ties="drop", top_k=1) == pytest.approx(log(10) / 2)
    assert loss((5.0, 1.0, -2.0), (1, 1, 1), ties="drop") == 0.0
    assert loss((0.3, -1.0, 2.0), (3, 2, 1), ties="drop") == pytest.approx(loss((0.3, -1.0, 2.0), (3, 2, 1)))


def test_rounding_is_a_tie():
    nearly = (0.1 + 0.2, 0.3, 0.0)
    assert loss((0.3, -1.0, 2.0), nearly) == pytest.approx(loss((0.3, -1.0, 2.0), (0.3, 0.3, 0.0)))


def test_the_gradient_of_averaged_ties_is_finite_and_right():
    scores = tensor(0.3, -1.0, 2.0, 0.0).requires_grad_()
    assert torch.autograd.gradcheck(lambda s: plackett_luce(s, tensor(1, 1, 0, 0)), scores)


def test_too_many_ties_are_refused_with_the_remedy():
    scores = torch.zeros(MOST_TIED + 1, dtype=torch.float64)
    with pytest.raises(ConfigError, match="17 episodes of a group are tied, more than 16: set learn"):
        plackett_luce(scores, scores)
    assert plackett_luce(scores, scores, ties="drop").item() == 0.0


def test_scores_are_log_ratios_or_mean_log_probabilities():
    rows = {
        "logp": [[-1.0, -1.0], [-3.0, -9.0]],
        "mask": [[1, 1], [1, 0]],
        "reward": [1.0, 0.0],
        "group": [0, 0],
        "unit": [0, 0],
    }
    # beta 0.5: 0.5 * (-2 + 5) = 1.5 and 0.5 * (-3 + 2) = -0.5
    ratios = ranking(batch_of(**rows, ref_logp=[[-2.0, -3.0], [-2.0, 0.0]]), beta=0.5)
    assert ratios.value.item() == pytest.approx(log(1 + exp(-2.0)))
    # 0.5 * -1 and 0.5 * -3
    means = ranking(batch_of(**rows), beta=0.5, reference=False)
    assert means.value.item() == pytest.approx(log(1 + exp(-1.0)))
    assert means.metrics == pytest.approx({"best_first": 1.0, "score_spread": 1.0})


def test_the_loss_is_the_mean_over_groups_and_a_group_of_one_adds_nothing():
    rows = {"logp": [[-1.0], [-2.0], [-3.0]], "mask": [[1]] * 3, "reward": [1.0, 0.0, 1.0]}
    batch = batch_of(**rows, group=[0, 0, 1], unit=[0, 0, 1])
    value = ranking(batch, beta=1.0, reference=False).value.item()
    assert value == pytest.approx(log(1 + exp(-1.0)) / 2)


def test_a_part_of_a_group_is_refused():
    batch = example_batch(objective("ranking").algorithm, seed=0)
    with pytest.raises(ValueError, match="a group is compared as a whole"):
        ranking(part_of(batch, [0, 1, 2]))


def test_the_reference_is_needed_only_where_it_is_used():
    assert objective("ranking").needs == {"ref_logp"}
    assert objective("ranking", {"reference": False}).needs == frozenset()
