"""AMPO's reward by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentevol.core.errors import ConfigError
from agentevol.learn.rewards.ampo import AMPOReward, ampo_reward, answer_reward, length_reward

SCORES = st.floats(0, 10, allow_subnormal=False)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (5, 5, 0.5),
        (5, 8, 0.8),  # 3 of 5 that could be won: (0.6 + 1) / 2
        (5, 4, 0.4),  # 1 of 5 that could be lost: (-0.2 + 1) / 2
        (0, 10, 1.0),
        (10, 0, 0.0),
        (0, 0, 0.5),
        (10, 10, 0.5),
    ],
)
def test_an_answer_earns_its_share_of_what_could_be_won_or_lost(before: float, after: float, expected: float):
    assert answer_reward(before, after) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [(0, 1.0), (175, 1.0), (190, 0.9), (250, 0.5), (280, 0.3), (325, 0.0), (9999, 0.0)],
)
def test_length_counts_from_target_less_span_to_target_plus_span(tokens: int, expected: float):
    assert length_reward(tokens) == pytest.approx(expected, abs=1e-12)


def test_the_total_is_a_product():
    assert ampo_reward(3, 250, 5, 8) == AMPOReward(total=0.4, mode=3, answer=0.8, length=0.5)
    assert ampo_reward(3, 250, 5, 9) != ampo_reward(3, 250, 5, 8)
    assert ampo_reward(3, 20, 5, 8, target=20, span=10).length == 0.5


def test_a_wrong_format_costs_2_and_nobody_judges_it():
    assert ampo_reward(-1, 10, 5, None) == ampo_reward(-1, 10, 5, 8) == AMPOReward(total=-2.0, mode=-1)


def test_a_failed_judge_excludes_the_sample_or_pays_0():
    assert ampo_reward(2, 10, 5, None) == AMPOReward(total=None, mode=-1)
    assert ampo_reward(2, 10, 5, None, judge_fail="zero") == AMPOReward(total=0.0, mode=-1)


@pytest.mark.parametrize(("before", "after"), [(-1, 5), (5, 11), (float("nan"), 5)])
def test_a_score_outside_the_scale_is_an_error(before: float, after: float):
    with pytest.raises(ConfigError, match="between 0 and 10"):
        answer_reward(before, after)


@given(before=SCORES, after=SCORES, tokens=st.integers(0, 3000))
def test_rewards_are_in_0_to_1_and_grow_with_the_score(before: float, after: float, tokens: int):
    got = ampo_reward(1, tokens, before, after)
    assert got.total is not None
    assert 0 <= got.total <= 1
    assert (answer_reward(before, after) > 0.5) <= (after > before)
    assert length_reward(tokens + 1) <= length_reward(tokens)
