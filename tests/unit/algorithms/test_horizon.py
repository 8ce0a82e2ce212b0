"""How long episodes may be, and how old."""

import pytest

from agentevol.core.errors import ConfigError
from agentevol.rollout.horizon import gated_turn_limit, turn_limit


@pytest.mark.parametrize(
    ("step", "turns"), [(0, 10), (99, 10), (100, 20), (199, 20), (200, 30), (299, 30), (300, 30), (10**9, 30)]
)
def test_the_horizon_grows_by_the_step_and_stays_at_the_last(step: int, turns: int):
    assert turn_limit(step, [10, 20, 30], every=100) == turns


def test_the_horizon_never_shrinks():
    found = [turn_limit(step, [8, 12, 15], every=80) for step in range(400)]
    assert found == sorted(found)
    assert found.index(12) == 80
    assert found.index(15) == 160


@pytest.mark.parametrize(
    ("successes", "turns"),
    [
        ([], 10),
        ([0.9], 10),
        ([0.9, 0.5], 20),
        ([0.9, 0.4, 0.9], 10),  # not in a row
        ([0.9, 0.9, 0.9], 20),  # the third counts for the next round
        ([0.9, 0.9, 0.0, 0.9, 0.9], 30),
        ([0.9] * 20, 30),
    ],
)
def test_a_gated_horizon_waits_for_success(successes: list[float], turns: int):
    assert gated_turn_limit(successes, [10, 20, 30], threshold=0.5, patience=2) == turns


def test_a_gated_horizon_never_shrinks_as_the_record_grows():
    record = [0.9, 0.1, 0.9, 0.9, 0.2, 0.0, 0.9, 0.9, 0.1]
    found = [gated_turn_limit(record[:end], [1, 2, 3], 0.5, 2) for end in range(len(record) + 1)]
    assert found == sorted(found)


@pytest.mark.parametrize("rounds", [[], [10, 5], [0, 5]])
def test_rounds_that_shrink_are_an_error(rounds: list[int]):
    with pytest.raises(ConfigError, match="never fewer"):
        turn_limit(0, rounds, every=1)
    with pytest.raises(ConfigError, match="never fewer"):
        gated_turn_limit([], rounds, 0.5)


def test_steps_before_the_first_and_rounds_without_length_are_errors():
    with pytest.raises(ConfigError, match="step of at least 0: 1, -1"):
        turn_limit(-1, [5], every=1)
    with pytest.raises(ConfigError, match="`every` of at least 1"):
        turn_limit(0, [5], every=0)
    with pytest.raises(ConfigError, match="patience of at least 1, not 0"):
        gated_turn_limit([], [5], 0.5, patience=0)
