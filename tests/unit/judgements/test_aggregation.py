"""Means and medians of samples and judges: literal values, and dimensions that are not defined."""

import pytest

from agentevol.data.judgements.aggregation import combined, normalised, overall, spread
from agentevol.data.judgements.outcomes import Scores
from agentgym_envs.sotopia.protocol.dimensions import SOTOPIA, Dimension

# Goals 2, 4, 9: mean 5, median 4, spread 7. Secrets -10, -10, -1: mean -7, median -10, spread 9.
RATED: list[Scores] = [
    ({"goal": 2.0}, {"secret": -10.0}),
    ({"goal": 4.0}, {"secret": -10.0}),
    ({"goal": 9.0}, {"secret": -1.0}),
]


def test_means_medians_and_spreads() -> None:
    assert combined(RATED, "mean") == ({"goal": 5.0}, {"secret": -7.0})
    assert combined(RATED, "median") == ({"goal": 4.0}, {"secret": -10.0})
    assert spread(RATED) == ({"goal": 7.0}, {"secret": 9.0})


def test_the_median_of_an_even_number_is_the_mean_of_the_middle_two() -> None:
    assert combined([*RATED, ({"goal": 5.0}, {"secret": 0.0})], "median") == ({"goal": 4.5}, {"secret": -5.5})


@pytest.mark.parametrize("changed", [({"goal": 3.0}, {"secret": -10.0}), ({"goal": 2.0}, {"secret": -9.0})])
def test_the_oracle_notices_a_change(changed: Scores) -> None:
    assert combined([changed, *RATED[1:]], "mean") != combined(RATED, "mean")


def test_what_is_not_defined_is_left_out_and_never_0() -> None:
    rated: list[Scores] = [
        ({"goal": 2.0, "secret": None},),
        ({"goal": 4.0, "secret": -6.0},),
        ({"secret": None},),
    ]
    assert combined(rated, "mean") == ({"goal": 3.0, "secret": -6.0},)
    assert spread(rated) == ({"goal": 2.0, "secret": 0.0},)
    nothing: list[Scores] = [({"goal": None},), ({"goal": None},)]
    assert combined(nothing, "median") == spread(nothing) == ({"goal": None},)


def test_judges_of_different_numbers_of_seats_are_not_combined() -> None:
    with pytest.raises(ValueError, match="zip"):
        combined([({"goal": 1.0},), ({"goal": 1.0}, {"goal": 1.0})], "mean")


def test_the_overall_score_is_the_plain_mean_of_all_dimensions() -> None:
    highest = {one.name: float(one.high) for one in SOTOPIA}
    assert overall(highest) == pytest.approx((10 + 5 + 10 + 0 + 0 + 5 + 10) / 7)
    lowest = {one.name: float(one.low) for one in SOTOPIA}
    assert overall(lowest) == pytest.approx((0 - 5 + 0 - 10 - 10 - 5 + 0) / 7)
    assert overall({**highest, "secret": None}) is None
    assert overall({}) is None


def test_scores_as_shares_of_their_ranges() -> None:
    dimensions = (*SOTOPIA, Dimension("courtesy", 1, 5, ""))
    scores = {"relationship": 0.0, "secret": -10.0, "goal": 7.5, "courtesy": 5.0}
    found = normalised(scores, dimensions)
    assert {name: share for name, share in found.items() if share is not None} == {
        "relationship": 0.5,
        "secret": 0.0,
        "goal": 0.75,
        "courtesy": 1.0,
    }
    assert list(found) == [one.name for one in dimensions]
    assert found["knowledge"] is None
