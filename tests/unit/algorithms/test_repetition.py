"""The share of repeated n-grams, by hand."""

import pytest

from agentevol.learn.rewards.repetition import repeated_share


def test_repetition_by_hand():
    # a b c d a b c d: abcd bcda cdab dabc abcd, 4 distinct of 5
    assert repeated_share("a b c d A B c d", 4) == pytest.approx(0.2, abs=1e-15)
    assert repeated_share("a b c d a b c e", 4) == 0.0


def test_fewer_words_than_an_n_gram_repeat_nothing():
    assert repeated_share("no no no", 4) == 0.0
    assert repeated_share("no no no", 1) == pytest.approx(2 / 3)


def test_more_repetition_is_a_larger_share_below_1():
    shares = [repeated_share("no " * count, 4) for count in (*range(4, 30), 10_000)]
    assert shares == sorted(shares)
    assert 0 == shares[0] < shares[-1] < 1
