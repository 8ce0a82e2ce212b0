"""Sequences of side 0: prompts before the answers of others, and whole sequences."""

import numpy as np
import pytest
from support.training_sequences import TWO_TASKS, sequence

from agentevol.core.algorithms.registry import objective
from agentevol.data.auxiliary_sequences import mismatched, whole_sequences, with_auxiliary_sequences
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.batch_plan import plan
from agentevol.learn.batches.trainable_sequences import NothingToLearn, fit


def test_each_prompt_stands_before_what_was_said_under_another():
    found = mismatched(TWO_TASKS)
    assert [each.side for each in found] == [1, -1, 1, -1, 0, 0, 0, 0]
    beside = {each.unit: each.token_ids.tolist() for each in found[4:]}
    assert beside == {
        "label a": [1, 8],
        "label b": [1, 9],
        "label c": [2, 3, 5, 6],
        "label d": [2, 3, 7],
    }
    assert [each.mask.tolist() for each in found[4:]] == [
        [False, True],
        [False, True],
        [False, False, True, True],
        [False, False, True],
    ]
    assert [each.unit for each in found[:4]] == ["label a", "label b", "label c", "label d"]


def test_sequences_beside_are_nobodys_samples():
    (*_, beside) = mismatched(TWO_TASKS)
    assert (beside.weight, beside.policy_version, beside.episode, beside.turn) == (1.0, None, None, None)
    assert np.isnan(beside.rollout_logp).all()
    assert beside.trajectory_id == "b"  # whose answer it is


def test_a_prompt_of_more_than_half_of_the_sequences_leaves_some_without_another():
    found = mismatched([*TWO_TASKS[:2], sequence([1], [4], "e"), TWO_TASKS[2]])
    assert sorted(each.unit for each in found if each.side == 0) == ["label a", "label c"]
    assert {each.trajectory_id: each.unit for each in found if each.side} == {
        "a": "label a",
        "b": "",
        "e": "",
        "c": "label c",
    }


def test_one_prompt_alone_has_no_other():
    with pytest.raises(NothingToLearn, match="all 2 have the same: take 'batch'"):
        mismatched(TWO_TASKS[:2])


def test_a_sequence_and_what_lies_beside_it_are_never_separated():
    fitting = fit(mismatched(TWO_TASKS), 8)
    assembly = Assembly(fitting.sequences)
    steps = plan(fitting.sequences, assembly.atoms("batch"), batch_tokens=7, epochs=1, seed=0)
    assert len(steps) == 4
    for step in steps:
        assert {fitting.sequences[index].side == 0 for index in step} == {True, False}
        assert len({fitting.sequences[index].unit for index in step}) == 1


def test_a_sequence_whose_neighbour_is_too_long_leaves_with_it_and_is_counted():
    fitting = fit(mismatched(TWO_TASKS), 3)
    assert (fitting.dropped_overflow, fitting.dropped_incomplete) == (1, 1)
    assert "c" not in {each.trajectory_id for each in fitting.sequences if each.side}


def test_the_chosen_side_comes_again_with_all_of_it_learnt():
    pair = [sequence([1, 2], [5], "a", 1, "pair 0"), sequence([1, 2], [6], "b", -1, "pair 0")]
    (*given, whole) = whole_sequences(pair)
    assert given == pair
    assert (whole.side, whole.unit, whole.mask.tolist()) == (0, "pair 0", [False, True, True])
    assert len(fit([*given, whole], 8).sequences) == 3


@pytest.mark.parametrize(
    ("name", "options", "count"),
    [
        ("kto", {}, 4),
        ("kto", {"kto_reference": "mismatched"}, 8),
        ("orpo", {}, 4),
        ("orpo", {"nll_scope": "all"}, 6),
    ],
)
def test_there_are_sequences_beside_only_where_an_option_asks_for_them(name: str, options: dict, count: int):
    assert len(with_auxiliary_sequences(TWO_TASKS, objective(name, options))) == count
