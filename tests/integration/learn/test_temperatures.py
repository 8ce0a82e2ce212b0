"""Episodes sampled at temperatures of their own are learnt at them: embedded engine against learner."""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from support.tiny_models import write_checkpoint
from support.trajectories import trajectory

from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint, LearnerJob, Sampling, TrainingSequence
from agentevol.data.columnar_file import EncodedSequences, read_sequences
from agentevol.data.hashes import of_sequences
from agentevol.data.training_sequences import grouped, imitated
from agentevol.engines.embedded.engine import EmbeddedEngine
from agentevol.learn.batches.packing import packed
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.log_probabilities import token_logp
from agentgym_store.records import Trajectory, Turn

HEATS = (0.5, 0.6, 0.8, 1.0)
GRPO: dict[str, Any] = {
    "algorithm": "grpo",
    "learning_rate": 1e-4,
    "micro_batch_tokens": 128,
    "device": "cpu",
    "threads": 1,
    "max_logp_gap": 99.0,
}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return Checkpoint(write_checkpoint(tmp_path_factory.mktemp("heats")), 0)


@pytest.fixture(scope="module")
def played(start: Checkpoint) -> list[Trajectory]:
    """Four episodes of a task, each sampled by the engine at another temperature; two are won."""
    engine = EmbeddedEngine(start, slots=4, dtype="float32")
    try:
        return asyncio.run(_play(engine))
    finally:
        engine.close()


async def _play(engine: EmbeddedEngine) -> list[Trajectory]:
    async def one(number: int, heat: float) -> Trajectory:
        policy = engine.serve(Sampling(temperature=heat, max_new_tokens=12))
        sample = await policy.complete(f"e{number}", [3, 5, 7, 60], seed=number)
        turn = Turn(action="a", observation="o", reward=float(number % 2), sample=sample)
        return trajectory(id=f"e{number}", attempt=number, turns=(turn,), temperature=heat)

    return list(await asyncio.gather(*(one(number, heat) for number, heat in enumerate(HEATS))))


def learnt(
    start: Checkpoint, sequences: list[TrainingSequence], out: Path, **settings: Any
) -> dict[str, float]:
    config = LearnConfig.model_validate({**GRPO, **settings})
    return GradientLearner(config).learn(LearnerJob(start, sequences, out, seed=0)).metrics


def test_the_learner_reads_each_episode_at_its_own_temperature(
    start: Checkpoint, played: list[Trajectory], tmp_path: Path
):
    sequences = grouped(played, objective("grpo", {}))
    own = learnt(start, sequences, tmp_path / "own", old_logprobs="rollout")
    assert own["logp_gap_tokens"] > 12
    assert own["logp_gap"] < 1e-4  # float32 on both sides
    assert own["old_mismatch"] < 1e-4  # the ratio's old policy, too
    unaware = [replace(sequence, temperature=None) for sequence in sequences]
    for heat in (0.5, 0.75, 1.0):  # no single temperature is that of all episodes
        one = learnt(start, unaware, tmp_path / f"{heat}", rollout_temperature=heat)
        assert one["logp_gap"] > 0.05


def test_old_and_engine_log_probabilities_agree_wherever_importance_is_weighed(
    start: Checkpoint, played: list[Trajectory], tmp_path: Path
):
    sequences = grouped(played, objective("grpo", {}))
    options = {"importance": "token"}
    own = learnt(start, sequences, tmp_path / "own", options=options)
    assert own["engine_gap_max"] < 1e-3
    assert own["importance_ess"] == pytest.approx(1.0, abs=1e-4)
    unaware = [replace(sequence, temperature=None) for sequence in sequences]
    assert learnt(start, unaware, tmp_path / "one", options=options)["engine_gap_max"] > 0.1


def test_texts_to_imitate_are_learnt_without_temperature_and_yet_compared_at_their_own(
    start: Checkpoint, played: list[Trajectory], tmp_path: Path
):
    sequences = imitated(played, objective("sft", {}), SelectConfig())
    own = learnt(start, sequences, tmp_path / "own", algorithm="sft")
    unaware = [replace(sequence, temperature=None) for sequence in sequences]
    other = learnt(start, unaware, tmp_path / "one", algorithm="sft")
    assert own["loss_last"] == other["loss_last"]
    assert own["logp_gap"] < 1e-4 < 0.05 < other["logp_gap"]


def test_a_temperature_for_each_label_by_hand():
    # The head is the identity. ln 4 and 0 at temperature 1 are [4/5, 1/5], at temperature 2 [2/3, 1/3].
    head = torch.nn.Linear(2, 2, bias=False)
    head.weight = torch.nn.Parameter(torch.eye(2))
    hidden = torch.tensor([[4.0, 1.0], [4.0, 1.0]]).log()
    labels, heats = torch.tensor([0, 0]), torch.tensor([1.0, 2.0])
    whole = token_logp(hidden, head, labels, temperature=heats, entropy=True)
    assert whole.logp_N.exp().tolist() == pytest.approx([4 / 5, 2 / 3], abs=1e-6)
    in_parts = token_logp(hidden, head, labels, temperature=heats, entropy=True, chunk_logits=2)
    assert torch.equal(in_parts.logp_N, whole.logp_N)
    assert in_parts.entropy_N is not None
    assert whole.entropy_N is not None
    assert torch.equal(in_parts.entropy_N, whole.entropy_N)


def test_sequences_keep_their_temperature_in_batches_files_and_hashes(
    played: list[Trajectory], tmp_path: Path
):
    own = imitated(played[:2], objective("sft", {}), SelectConfig())
    mixed = [own[0], replace(own[1], temperature=None)]
    batch = packed(mixed, [0, 1])
    assert batch.temperature is not None
    first = int(own[0].mask.sum())
    assert batch.temperature[:first].tolist() == [0.5] * first
    assert batch.temperature[first:].isnan().all()
    assert packed([mixed[1]], [0]).temperature is None
    EncodedSequences.of(mixed).write(tmp_path / "file", "key")
    again = read_sequences(tmp_path / "file", "key")
    assert again is not None
    assert [one.temperature for one in again] == [0.5, None]
    assert of_sequences(own) != of_sequences(mixed)
