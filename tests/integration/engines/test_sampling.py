"""Draws against literal distributions."""

from collections import Counter
from math import exp, inf, log, nan

import pytest
import torch

from agentevol.core.splitmix import uniform
from agentevol.engines.embedded.sampling import Draw, draw

# Three tokens of probability 0.5, 0.3 and 0.2: cumulative 0.5, 0.8, 1.
LOGITS = [log(0.5), log(0.3), log(0.2)]


def drawn(number: float, temperature: float = 1.0, top_p: float = 1.0) -> tuple[int, float]:
    tokens, logprobs = draw(torch.tensor([LOGITS]), Draw([temperature], [top_p], [number]))
    return tokens[0], exp(logprobs[0])


@pytest.mark.parametrize(
    ("number", "token", "probability"),
    [(0.0, 0, 0.5), (0.49, 0, 0.5), (0.51, 1, 0.3), (0.79, 1, 0.3), (0.81, 2, 0.2)],
)
def test_a_number_picks_the_token_whose_share_it_falls_into(number, token, probability):
    assert drawn(number) == (token, pytest.approx(probability, abs=1e-6))  # float32 holds 7 digits


def test_temperature_scales_the_distribution_and_its_log_probability():
    # At temperature 0.5 probabilities are squared: 25 : 9 : 4 of 38.
    assert drawn(0.7, temperature=0.5) == (1, pytest.approx(9 / 38, abs=1e-6))


def test_greedy_takes_the_most_likely_with_its_probability_at_temperature_1():
    assert drawn(0.99, temperature=0.0) == (0, pytest.approx(0.5, abs=1e-6))
    assert drawn(0.99, temperature=0.0, top_p=0.1) == (0, pytest.approx(0.5, abs=1e-6))


def test_top_p_keeps_the_token_that_crosses_it_and_renormalises():
    # top_p 0.6: 0.5 + 0.3 crosses; 0.3 / 0.8 = 0.375. top_p 0.4: the first alone.
    assert drawn(0.99, top_p=0.6) == (1, pytest.approx(0.375, abs=1e-6))
    assert drawn(0.99, top_p=0.4) == (0, pytest.approx(1.0, abs=1e-6))


def test_rows_of_a_batch_do_not_touch_each_other():
    rows = Draw([1.0, 0.0, 0.5, 1.0], [1.0, 1.0, 1.0, 0.6], [0.51, 0.99, 0.7, 0.99])
    tokens, logprobs = draw(torch.tensor([LOGITS] * 4), rows)
    assert tokens == [1, 0, 1, 1]
    assert [exp(logp) for logp in logprobs] == pytest.approx([0.3, 0.5, 9 / 38, 0.375], abs=1e-6)


def test_numbers_follow_from_seed_and_position_and_are_uniform():
    numbers = [uniform(3, position) for position in range(10_000)]
    assert numbers == [uniform(3, position) for position in range(10_000)]
    assert numbers[:100] != [uniform(4, position) for position in range(100)]
    counts = Counter(int(10 * number) for number in numbers)
    # 1,000 expected in each tenth with a standard deviation of 30; 150 are five of them
    assert set(counts) == set(range(10))
    assert all(850 < count < 1150 for count in counts.values())


@pytest.mark.parametrize("broken", [nan, inf])
def test_logits_that_are_not_finite_are_an_error(broken):
    with pytest.raises(ValueError, match="not finite"):
        draw(torch.tensor([[0.0, broken, 0.0]]), Draw([1.0], [1.0], [0.5]))
