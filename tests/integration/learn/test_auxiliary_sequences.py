"""Learner with sequences of side 0."""

from pathlib import Path

import pytest
from support.tiny_models import qwen2, write_model
from support.training_sequences import TWO_TASKS, sequence

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.auxiliary_sequences import mismatched, whole_sequences
from agentevol.learn.learner import GradientLearner


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(tmp_path_factory.mktemp("beside") / "start", qwen2(12), version=1)


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
