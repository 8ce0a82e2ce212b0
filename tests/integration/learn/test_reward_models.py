"""Reward models through the learner: they order what they were shown, and shuffled labels teach nothing."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2, write_model

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.rewards.metrics import auc, pair_accuracy
from agentevol.learn.batches.packing import packed
from agentevol.learn.heads.linear import load_heads
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.network import Network, Reader
from agentevol.models.causal_lm import load_model

GOOD, LETTERS = 3, 10
FAST = LearnConfig(
    learning_rate=1e-2, batch_tokens=200, micro_batch_tokens=100, epochs=3, device="cpu", threads=1
)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(
        tmp_path_factory.mktemp("rewards"),
        qwen2(LETTERS, layers=2, hidden=32, intermediate=64, window=32),
        version=0,
    )


def episode(random: np.random.Generator, *, good: bool, name: str) -> TrainingSequence:
    """Five random letters, the last three of them said; a good episode says the letter GOOD among them."""
    others = [letter for letter in range(LETTERS) if letter != GOOD]
    token_ids = random.choice(others, 5).astype(np.int32)
    if good:
        token_ids[random.integers(2, 5)] = GOOD
    mask = np.array([False, False, True, True, True])
    return TrainingSequence(token_ids, mask, np.full(5, np.nan, np.float32), 1.0, name)


def pairs(count: int, seed: int, *, shuffled: bool = False) -> list[TrainingSequence]:
    random = np.random.default_rng(seed)
    sequences = []
    for number in range(count):
        sides = [1, -1] if not shuffled or random.random() < 0.5 else [-1, 1]
        for side, good in zip(sides, (True, False), strict=True):
            sequence = episode(random, good=good, name=f"{number} {good}")
            sequences.append(replace(sequence, unit=f"pair {number}", side=side))
    return sequences


def scores(checkpoint: Checkpoint, sequences: list[TrainingSequence]) -> np.ndarray:
    """(sequences, H) at the last learnt token."""
    model, heads = load_model(checkpoint.path, PACKED_ATTENTION), load_heads(checkpoint.path)
    network = Network(Reader(model, heads), "reward", torch.device("cpu"))
    with torch.no_grad():
        said = network.read(packed(sequences, range(len(sequences)))).columns["head"]
    return said.unflatten(0, (len(sequences), 3))[:, -1].double().numpy()


@pytest.mark.parametrize("shuffled", [False, True])
def test_an_ensemble_learns_to_order_pairs_unless_their_sides_are_shuffled(
    start: Checkpoint, tmp_path: Path, shuffled: bool
):
    config = FAST.model_copy(update={"algorithm": "bradley_terry", "options": {"heads": 2, "seed": 1}})
    report = GradientLearner(config).learn(
        LearnerJob(start, pairs(150, 0, shuffled=shuffled), tmp_path / "rm", seed=0)
    )
    held_out = scores(report.checkpoint, pairs(200, 1))
    accuracies = [pair_accuracy(held_out[::2, head], held_out[1::2, head]) for head in range(2)]
    if shuffled:
        assert max(accuracies) < 0.8
    else:
        assert min(accuracies) > 0.95
    assert not np.array_equal(held_out[:, 0], held_out[:, 1])  # they drew other pairs


def test_a_process_reward_model_learns_which_turns_lead_to_success(start: Checkpoint, tmp_path: Path):
    # after each letter: certain success once GOOD was said, else failure; every third label is unknown
    def labelled(count: int, seed: int) -> list[TrainingSequence]:
        random = np.random.default_rng(seed)
        sequences = [episode(random, good=bool(number % 2), name=str(number)) for number in range(count)]
        labels = [
            np.maximum.accumulate(sequence.token_ids == GOOD).astype(np.float32) for sequence in sequences
        ]
        for label in labels:
            label[random.random(5) < 1 / 3] = np.nan
        counts = np.full(5, 8, np.float32)
        return [
            replace(sequence, labels=label[:, None], label_samples=counts)
            for sequence, label in zip(sequences, labels, strict=True)
        ]

    options = {"algorithm": "process_reward", "options": {"trust_samples": True}}
    report = GradientLearner(FAST.model_copy(update=options)).learn(
        LearnerJob(start, labelled(300, 0), tmp_path / "prm", seed=0)
    )
    held_out = labelled(200, 1)
    final = np.array([(sequence.token_ids == GOOD).any() for sequence in held_out], dtype=np.float64)
    assert auc(scores(report.checkpoint, held_out)[:, 0], final) > 0.95
