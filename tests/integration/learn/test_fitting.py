from dataclasses import replace

import numpy as np
import pytest

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.trainable_sequences import fit


def sequence(length: int, weight: float = 1.0, trained: int = 1, name: str = "sequence") -> TrainingSequence:
    mask = np.zeros(length, dtype=np.bool_)
    mask[length - trained :] = True
    return TrainingSequence(
        np.arange(length, dtype=np.int32), mask, np.full(length, np.nan, np.float32), weight, name
    )


def test_sequences_end_after_their_last_trained_token():
    mask = np.array([False, True, False, True, False, False])
    long = TrainingSequence(np.arange(6, dtype=np.int32), mask, -np.arange(6, dtype=np.float32), 1.0, "e")
    (kept,) = fit([long], max_tokens=4).sequences
    assert kept.token_ids.tolist() == [0, 1, 2, 3]
    assert kept.mask.tolist() == [False, True, False, True]
    assert kept.rollout_logp.tolist() == [0, -1, -2, -3]


def test_sequences_that_cannot_be_trained_on_are_counted_by_reason():
    fitting = fit(
        [sequence(4), sequence(9), sequence(8), sequence(4, trained=0), sequence(4, weight=0.0), sequence(9)],
        max_tokens=8,
    )
    assert [len(kept.token_ids) for kept in fitting.sequences] == [4, 8]
    assert (fitting.dropped_overflow, fitting.dropped_empty, fitting.dropped_weightless) == (2, 1, 1)


def test_overflow_may_be_an_error():
    assert len(fit([sequence(8)], 8, "error").sequences) == 1
    with pytest.raises(ConfigError, match="9 tokens, more than 8"):
        fit([sequence(8), sequence(9)], 8, "error")


@pytest.mark.parametrize("weight", [-0.1, float("nan"), float("inf")])
def test_weights_are_finite_and_not_negative(weight: float):
    with pytest.raises(ConfigError, match="weight"):
        fit([sequence(4, weight=weight)], 8)


def test_the_first_token_is_never_learnt():
    with pytest.raises(ConfigError, match="first token"):
        fit([sequence(4, trained=4)], 8)


def test_pairs_whose_sides_are_the_same_are_dropped_and_counted():
    same = [replace(sequence(4, name=name), unit="p", side=side) for name, side in (("a", 1), ("b", -1))]
    other = [
        replace(sequence(4, name="a"), unit="q", side=1),
        replace(sequence(4, trained=2, name="b"), unit="q", side=-1),
    ]
    fitting = fit([*same, *other], 8)
    assert [kept.unit for kept in fitting.sequences] == ["q", "q"]
    assert (fitting.dropped_identical, fitting.dropped_incomplete) == (2, 0)


@pytest.mark.parametrize("logp", [0.1, float("inf"), float("-inf")])
def test_a_recorded_log_probability_is_finite_and_not_above_zero(logp: float):
    given = sequence(4)
    given.rollout_logp[3] = logp
    with pytest.raises(ConfigError, match="episode sequence has a sampled token whose log-probability"):
        fit([given], 8)
    given.rollout_logp[3] = 1e-7  # rounding of a certain token
    assert len(fit([given], 8).sequences) == 1


def test_only_reasons_that_dropped_sequences_are_told():
    fitting = fit([sequence(9), sequence(4, weight=0.0)], max_tokens=8)
    assert fitting.reasons(8) == (
        "1 of weight 0, 1 above 8 tokens (learn.micro_batch_tokens, the model's positions)"
    )
    assert fit([], 8).reasons(8) == "none was given"


def turns(*lengths: int, name: str = "e") -> TrainingSequence:
    """Of every turn one token that was read and so many that were said."""
    turn = np.concatenate([[-1] + [number] * length for number, length in enumerate(lengths)]).astype(
        np.int32
    )
    logp = np.where(turn >= 0, -1.0, np.nan).astype(np.float32)
    ids = np.arange(len(turn), dtype=np.int32)
    return TrainingSequence(ids, turn >= 0, logp, 1.0, name, policy_version=3, turn=turn)


def test_a_sequence_that_is_too_long_can_lose_its_first_turns():
    long, short = turns(2, 3, 1), turns(2, 3)  # 9 and 7 tokens
    fitting = fit([long, short], 7, "cut_left_turns")
    cut, whole = fitting.sequences
    assert cut.token_ids.tolist() == [3, 4, 5, 6, 7, 8]  # without the first turn, of 3 tokens
    assert cut.mask.tolist() == [False, True, True, True, False, True]
    assert cut.turn.tolist() == [-1, 1, 1, 1, -1, 2]
    # the engine has read all of it: what it said of these tokens is not comparable
    assert np.isnan(cut.rollout_logp).all()
    assert cut.policy_version is None
    assert whole is short
    assert (fitting.cut_left, fitting.dropped_overflow) == (1, 0)
    assert fit([long], 5, "cut_left_turns").sequences[0].token_ids.tolist() == [
        7,
        8,
    ]  # of two first turns, if need be


def test_a_last_turn_that_is_too_long_is_dropped_and_counted_whatever_is_cut():
    fitting = fit([turns(2, 3), turns(2)], 3, "cut_left_turns")
    assert [len(sequence.token_ids) for sequence in fitting.sequences] == [3]
    assert (fitting.cut_left, fitting.dropped_overflow) == (0, 1)
    assert (fit([turns(2, 3)], 4).cut_left, fit([turns(2, 3)], 4).dropped_overflow) == (
        0,
        1,
    )  # the default drops


def test_drift_is_counted_once_for_an_episode_whatever_became_of_its_sequences():
    sequences = [
        replace(turns(1, name=name), drift_events=events) for name, events in (("a", 2), ("a", 2), ("b", 1))
    ]
    sequences[0] = replace(sequences[0], mask=np.zeros(2, dtype=np.bool_))
    fitting = fit([*sequences, turns(1, name="c")], 8)
    assert (fitting.drift_events, fitting.dropped_empty) == (3, 1)
