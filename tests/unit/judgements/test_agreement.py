"""Agreement of raters against published and hand-computed values."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentevol.data.judgements.agreement import agreement, agreements, alpha, correlation
from agentevol.data.judgements.outcomes import Scores

# Krippendorff, Computing Krippendorff's Alpha-Reliability (2011): four observers, twelve units; the published
# alpha for intervals is 0.849.
FOUR = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
# The example of three coders in "Krippendorff's alpha" of Wikipedia: 0.811 for intervals.
THREE = (
    ". . . . . 3 4 1 2 1 1 3 3 . 3",
    "1 . 2 1 3 3 4 3 . . . . . . .",
    ". . 2 1 3 4 4 . 2 1 1 3 3 . 4",
)


def units_of(rows: tuple[str, ...]) -> list[list[float]]:
    columns = zip(*(row.split() for row in rows), strict=True)
    units = [[float(score) for score in column if score != "."] for column in columns]
    return [unit for unit in units if len(unit) > 1]


UNITS = units_of(FOUR)


def test_alpha_is_that_of_the_published_examples() -> None:
    assert (len(UNITS), len(units_of(THREE))) == (11, 12)
    assert alpha(UNITS) == pytest.approx(0.849, abs=0.0005)  # published with three decimals
    assert alpha(units_of(THREE)) == pytest.approx(0.811, abs=0.0005)


@pytest.mark.parametrize(("unit", "place", "score"), [(0, 0, 2.0), (5, 3, 3.0), (10, 1, 2.0)])
def test_the_oracle_of_alpha_notices_a_change(unit: int, place: int, score: float) -> None:
    changed = [list(scores) for scores in UNITS]
    changed[unit][place] = score
    assert alpha(changed) != pytest.approx(0.849, abs=0.0005)


def test_alpha_by_hand() -> None:
    # Units (1, 2) and (3, 3): observed (1 - 2)^2 twice over 4 scores = 0.5. All ordered pairs of 1, 2, 3, 3:
    # 1 + 4 + 4 + 1 + 1 + 0, twice, over 12 = 22 / 12. alpha = 1 - 0.5 * 12 / 22 = 8 / 11.
    assert alpha([[1, 2], [3, 3]]) == pytest.approx(8 / 11)
    assert alpha([[1, 1], [2, 2]]) == 1.0
    # Units (1, 3) and (3, 1): observed 4, expected (4 * 4 * 2) / 12. alpha = 1 - 12 / 8.
    assert alpha([[1, 3], [3, 1]]) == pytest.approx(-0.5)


def test_without_variation_there_is_no_alpha() -> None:
    assert alpha([[2, 2], [2, 2]]) is None
    assert alpha([]) is None


@given(st.lists(st.lists(st.integers(0, 10), min_size=2, max_size=4), min_size=1, max_size=8), st.randoms())
def test_alpha_does_not_depend_on_the_order_or_on_the_scale(units: list[list[int]], draws: Random) -> None:
    first = alpha(units)
    mixed = [draws.sample(unit, len(unit)) for unit in draws.sample(units, len(units))]
    assert alpha(mixed) == (None if first is None else pytest.approx(first))
    scaled = alpha([[3 - 2 * score for score in unit] for unit in units])
    assert scaled == (None if first is None else pytest.approx(first))


def test_pearsons_correlation() -> None:
    assert correlation([(1, 2), (2, 4), (3, 6)]) == pytest.approx(1)
    assert correlation([(1, 3), (2, 2), (3, 1)]) == pytest.approx(-1)
    # Deviations (-1, 0, 1) and (-1, 2, -1): products 1 + 0 - 1 = 0.
    assert correlation([(1, 1), (2, 4), (3, 1)]) == pytest.approx(0)
    # Deviations (-1.5, -0.5, 0.5, 1.5) and (-1, 1, -1, 1): 2 / sqrt(5 * 4).
    assert correlation([(1, 1), (2, 3), (3, 1), (4, 3)]) == pytest.approx(2 / 20**0.5)
    assert correlation([(1, 1), (2, 1)]) is None
    assert correlation([]) is None


def test_agreement_of_two_raters_by_hand() -> None:
    units = [{"a": 10.0, "b": 5.0}, {"a": 8.0, "b": 8.0}, {"a": 2.0}, {"b": 3.0}, {"a": 0.0, "b": 2.0}]
    found = agreement(units, "goal", ("a", "b"), "judges")
    assert found.n == 3
    assert found.mean_absolute_difference == pytest.approx((5 + 0 + 2) / 3)
    assert found.exact == pytest.approx(1 / 3)
    # Deviations of 10, 8, 0 from 6: 4, 2, -6; of 5, 8, 2 from 5: 0, 3, -3. (0 + 6 + 18) / sqrt(56 * 18).
    assert found.correlation == pytest.approx(24 / (56 * 18) ** 0.5)
    # Within units: 25 / 2 + 0 + 4 / 2 = 14.5, times 2; all six scores: mean 5.5, squares 75.5, times 6 / 5.
    assert found.alpha == pytest.approx(1 - 2 * 14.5 / (75.5 * 6 / 5))


def test_nothing_to_compare_has_no_figures() -> None:
    found = agreement([{"a": 1.0}], "goal", ("a", "b"), "judges")
    assert (found.n, found.mean_absolute_difference, found.exact, found.correlation, found.alpha) == (
        0,
        None,
        None,
        None,
        None,
    )


def test_of_more_than_two_judges_each_pair_is_compared_and_all_together() -> None:
    rated: list[dict[str, Scores]] = [
        {"a": ({"goal": 1.0},), "b": ({"goal": 1.0},), "c": ({"goal": 4.0},)},
        {"a": ({"goal": 2.0},), "b": ({"goal": 2.0},), "c": ({"goal": 5.0},)},
    ]
    found = {one.raters: one for one in agreements(rated, ["a", "b", "c"])}
    assert list(found) == [("a", "b", "c"), ("a", "b"), ("a", "c"), ("b", "c")]
    assert found["a", "b"].exact == 1.0
    assert found["a", "c"].mean_absolute_difference == 3.0
    assert found["a", "b", "c"].mean_absolute_difference == 2.0
    assert found["a", "b", "c"].correlation is None
    assert len(agreements(rated, ["a", "b", "c"], "samples")) == 1


def test_seats_are_units_and_dimensions_that_one_does_not_score_are_left_out() -> None:
    rated: list[dict[str, Scores]] = [
        {
            "rule": ({"goal": 5.0, "secret": None}, {"goal": 4.0}),
            "model": ({"goal": 6.0, "secret": 0.0}, {"goal": 4.0}),
        }
    ]
    (found,) = agreements(rated, ["rule", "model"])
    assert (found.dimension, found.n, found.mean_absolute_difference, found.exact) == ("goal", 2, 0.5, 0.5)
