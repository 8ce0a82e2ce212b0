"""The accuracy reward that punishes repetition in wrong answers, by hand."""

import pytest

from agentevol.learn.rewards.good_accuracy import good_accuracy


def test_a_correct_answer_has_1_whatever_it_looks_like():
    assert good_accuracy(True, "x " * 50) == 1.0
    assert good_accuracy(True, "") == 1.0


def test_repetition_by_hand():
    # a b c d a b c d: abcd bcda cdab dabc abcd, 4 distinct of 5; 0.1 * -0.5 * (1 - 4/5)
    assert good_accuracy(False, "a b c d A B c d") == pytest.approx(-0.01, abs=1e-15)
    assert good_accuracy(False, "a b c d a b c e") == 0.0


@pytest.mark.parametrize("count", [0, 4, 5, 100, 10_000])
def test_a_wrong_answer_has_between_minus_5_hundredths_and_0(count: int):
    assert -0.05 <= good_accuracy(False, "no " * count) <= 0.0


def test_more_repetition_is_never_better():
    scores = [good_accuracy(False, "no " * count) for count in range(4, 30)]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] < scores[0]
