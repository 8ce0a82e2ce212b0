"""Aggregation of token values, by hand."""

import pytest
import torch

from agentevol.learn.algorithms.losses.aggregation import aggregate
from agentevol.learn.algorithms.testing import batch_of, part_of

# Three episodes: 1 token [4], 3 tokens [1, 2, 3], 2 tokens [5, 7]; the first two are one group. Horizon 10.
VALUES = [4.0, 1.0, 2.0, 3.0, 5.0, 7.0]
MASK = [[1, 0, 0], [1, 1, 1], [1, 0, 1]]
BATCH = batch_of([[-1.0] * 3] * 3, MASK, group=["a", "a", "b"])
EXPECTED = {
    "token_mean": 22 / 6,
    "seq_mean_token_mean": (4 + 2 + 6) / 3,
    "seq_mean_token_sum": (4 + 6 + 12) / 3,
    "seq_mean_token_sum_norm": (4 + 6 + 12) / 3 / 10,
    "prompt_mean": (10 / 4 + 12 / 2) / 2,
}


def values(numbers: list[float]) -> torch.Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


@pytest.mark.parametrize(("kind", "expected"), EXPECTED.items())
def test_each_kind_divides_by_its_own_counts(kind: str, expected: float):
    assert aggregate(BATCH, values(VALUES), kind, 10).item() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("kind", "expected"), EXPECTED.items())
def test_the_oracle_notices_another_mask_or_value(kind: str, expected: float):
    other = batch_of([[-1.0] * 3] * 3, [[1, 0, 0], [1, 1, 0], [1, 1, 1]], group=["a", "a", "b"])
    changed = values([*VALUES[:-1], 7.5])
    assert aggregate(BATCH, changed, kind, 10).item() != pytest.approx(expected, abs=1e-3)
    if "sum" not in kind and kind != "token_mean":  # these do not care whose token it is
        assert aggregate(other, values(VALUES), kind, 10).item() != pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("kind", EXPECTED)
@pytest.mark.parametrize("split", [[[0], [1], [2]], [[0, 2], [1]], [[1, 2], [0]]])
def test_any_split_into_micro_batches_adds_up(kind: str, split: list[list[int]]):
    tokens = {0: [4.0], 1: [1.0, 2.0, 3.0], 2: [5.0, 7.0]}
    total = 0.0
    for part in split:
        numbers = [number for each in part for number in tokens[each]]
        total += aggregate(part_of(BATCH, part), values(numbers), kind, 10).item()
    assert total == pytest.approx(EXPECTED[kind], abs=1e-12)


def test_a_long_episode_weighs_more_in_a_token_mean_only():
    long = batch_of([[-1.0] * 4] * 2, [[1, 0, 0, 0], [1, 1, 1, 1]])
    ones = values([1.0, 0.0, 0.0, 0.0, 0.0])
    assert aggregate(long, ones, "token_mean", 1).item() == pytest.approx(1 / 5)
    assert aggregate(long, ones, "seq_mean_token_mean", 1).item() == pytest.approx(1 / 2)


def test_the_horizon_is_a_constant_and_not_the_longest_episode():
    half = aggregate(BATCH, values(VALUES), "seq_mean_token_sum_norm", 20).item()
    assert half == pytest.approx(EXPECTED["seq_mean_token_sum_norm"] / 2, abs=1e-12)
    assert aggregate(BATCH, values(VALUES), "token_mean", 20).item() == pytest.approx(22 / 6)
