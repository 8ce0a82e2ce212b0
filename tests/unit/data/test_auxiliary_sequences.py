"""Sequences of side 0: prompts before the answers of others, and whole sequences."""

from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from agentevol.config.learner import LearnConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.auxiliary_sequences import mismatched, whole_sequences, with_auxiliary_sequences
from agentevol.learn.batches.assembly import Assembly
from agentevol.learn.batches.batch_plan import plan
from agentevol.learn.batches.trainable_sequences import NothingToLearn, fit
from agentevol.learn.learner import GradientLearner


def sequence(
    prompt: list[int], said: list[int], name: str, side: int = 1, unit: str = ""
) -> TrainingSequence:
    ids = np.array([*prompt, *said], dtype=np.int32)
    mask = np.arange(len(ids)) >= len(prompt)
    logp = np.where(mask, -0.5, np.nan).astype(np.float32)
    return TrainingSequence(ids, mask, logp, 2.0, name, policy_version=1, side=side, unit=unit)


TWO_TASKS = [
    sequence([1], [5, 6], "a"),
    sequence([1], [7], "b", -1),
    sequence([2, 3], [8], "c"),
    sequence([2, 3], [9], "d", -1),
]


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


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=12,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        bos_token_id=None,
        eos_token_id=None,
    )
    path = tmp_path_factory.mktemp("beside") / "start"
    LlamaForCausalLM(config).save_pretrained(path)
    (path / "tokenizer.json").write_text("{}", encoding="utf-8")
    return Checkpoint(path, version=1)


def learnt(
    start: Checkpoint, sequences: list[TrainingSequence], out: Path, micro: int, **settings: object
) -> dict:
    config = LearnConfig.model_validate(
        {"learning_rate": 0.1, "epochs": 3, "schedule": "constant", "device": "cpu", "threads": 1, **settings}
        | {"micro_batch_tokens": micro, "max_logp_gap": 9.0}
    )
    return GradientLearner(config).learn(LearnerJob(start, sequences, out, seed=0)).metrics


def test_the_learner_reads_mismatched_sequences_in_every_step(start: Checkpoint, tmp_path: Path):
    options = {"kto_reference": "mismatched", "beta": 1.0}
    sequences = mismatched(TWO_TASKS)
    whole = learnt(start, sequences, tmp_path / "a", 64, algorithm="kto", options=options)
    parts = learnt(start, sequences, tmp_path / "b", 5, algorithm="kto", options=options)
    assert whole["sequences"] == 8
    assert whole["reference_point"] > 0  # 0 in the first step, where the policy is its reference
    assert parts["loss_last"] == pytest.approx(whole["loss_last"], abs=1e-5)
    without = learnt(start, TWO_TASKS, tmp_path / "c", 64, algorithm="kto", options={"beta": 1.0})
    assert without["loss_first"] == pytest.approx(whole["loss_first"], abs=1e-6)
    assert without["loss_last"] != pytest.approx(whole["loss_last"], abs=1e-5)


def test_the_learner_reads_whole_sequences_of_pairs(start: Checkpoint, tmp_path: Path):
    pairs = [
        sequence([1, 2, 3], [5], "a", 1, "pair 0"),
        sequence([1, 2, 3], [6], "b", -1, "pair 0"),
        sequence([4, 2, 3], [7, 5], "c", 1, "pair 1"),
        sequence([4, 2, 3], [6], "d", -1, "pair 1"),
    ]
    options = {"nll_scope": "all"}
    found = [
        learnt(start, whole_sequences(pairs), tmp_path / str(micro), micro, algorithm="orpo", options=options)
        for micro in (64, 5)
    ]
    assert found[0]["sequences"] == 6
    assert found[0]["loss_last"] < found[0]["loss_first"]
    assert found[1]["loss_last"] == pytest.approx(found[0]["loss_last"], abs=1e-5)
