"""A text in other words is exchanged word for word, in any share."""

import re
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from agentevol.runs.starter.rewording import MOST, reworded

WISH = "do you sell 2 women's rugs, in red"


@given(st.integers(0, 10_000))
def test_what_is_no_word_stays_in_its_place(seed: int):
    other = reworded(WISH, ["mist", "tray"], Random(seed))
    assert re.sub("[a-z]+( [a-z]+)*", "w", other) == "w 2 w'w, w"
    assert len(other.split()) <= MOST * len(WISH.split()) + MOST


def test_any_share_is_exchanged_from_none_to_all():
    texts = [reworded(WISH, ["mist"], Random(seed)) for seed in range(400)]
    left = [len(set(re.findall("[a-z]+", text)) - {"mist"}) for text in texts]
    assert set(left) == set(range(9))


def test_equal_draws_say_the_same():
    assert reworded(WISH, ["mist", "tray"], Random(3)) == reworded(WISH, ["mist", "tray"], Random(3))
