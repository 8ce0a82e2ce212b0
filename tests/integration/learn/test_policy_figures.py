"""What an update with a policy gradient tells of itself."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2, write_model

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.protocols import Checkpoint, EpisodeFacts, LearnerJob, TrainingSequence
from agentevol.learn.batches.packing import packed
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.log_probabilities import score
from agentevol.models.causal_lm import load_model

VOCABULARY, TEMPERATURE = 12, 0.7
FAST: dict[str, Any] = {
    "learning_rate": 1e-3,
    "batch_tokens": 64,
    "micro_batch_tokens": 16,
    "device": "cpu",
    "threads": 1,
    "max_logp_gap": 99.0,
    "rollout_temperature": TEMPERATURE,
}


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(tmp_path_factory.mktemp("figures"), qwen2(VOCABULARY, intermediate=24), version=4)


def episodes(count: int = 8) -> list[TrainingSequence]:
    """Two groups of four; the first wins every other time, the second always. The engine said -2 of all."""
    random = np.random.default_rng(0)
    mask = np.array([False, True, True, True])
    sequences = []
    for number in range(count):
        group, won = ("mixed", number % 2) if number < 4 else ("easy", 1)
        facts = EpisodeFacts(group, (float(won),), ("",), (0,), (False,), truncated=False)
        ids = random.integers(0, VOCABULARY, 4).astype(np.int32)
        said = np.where(mask, -2.0, np.nan).astype(np.float32)
        turn = np.where(mask, 0, -1).astype(np.int32)
        sequences.append(
            TrainingSequence(ids, mask, said, 1.0, str(number), unit=group, turn=turn, episode=facts)
        )
    return sequences


def figures(start: Checkpoint, out: Path, name: str = "grpo", **settings: Any) -> dict[str, float]:
    config = LearnConfig.model_validate({**FAST, "algorithm": name, **settings})
    return GradientLearner(config).learn(LearnerJob(start, episodes(), out, seed=0)).metrics


def frozen_scores(start: Checkpoint) -> Any:
    with torch.no_grad():
        model = load_model(start.path, PACKED_ATTENTION)
        return score(model, packed(episodes(), range(8)), temperature=TEMPERATURE, entropy=True)


def test_an_update_tells_its_advantages_its_clipping_its_mismatch_and_its_size(
    start: Checkpoint, tmp_path: Path
):
    found = figures(start, tmp_path / "new", options={"importance": "token", "kl_coef": 0.0})
    names = """adv_mean adv_std adv_min adv_max reward_mean reward_std frac_zero_std_groups
        frac_groups_all_fail frac_groups_all_pass groups_of_4 clipfrac_low clipfrac_high clipfrac_dual
        ratio_mean ratio_max approx_kl entropy grad_norm_first grad_norm_last grad_norm_max
        engine_ratio_mean engine_ratio_max engine_k3 engine_gap_mean engine_gap_max importance_mean
        importance_ess importance_clipfrac"""
    assert set(names.split()) <= found.keys()
    assert (found["reward_mean"], found["frac_groups_all_pass"], found["groups_of_4"]) == (0.75, 0.5, 2)
    assert found["ratio_mean"] == pytest.approx(1.0, abs=1e-5)  # one step: the policy has not moved yet
    # the mismatch, by the model's own scores
    gap = frozen_scores(start).logp_N + 2.0
    weight = gap.exp().clamp(max=2.0)
    assert found["engine_gap_mean"] == pytest.approx(gap.abs().mean().item(), rel=1e-4)
    assert found["engine_gap_max"] == pytest.approx(gap.abs().max().item(), rel=1e-4)
    ess = weight.sum() ** 2 / (24 * weight.square().sum())
    assert found["importance_ess"] == pytest.approx(ess.item(), rel=1e-4)


@pytest.mark.parametrize("name", ["grpo", "adpo", "ppo"])
def test_the_entropy_is_that_of_the_policy_before_the_update(start: Checkpoint, tmp_path: Path, name: str):
    wanted = frozen_scores(start).entropy_N.mean().item()
    assert figures(start, tmp_path / "new", name)["entropy"] == pytest.approx(wanted, rel=1e-5)
    assert wanted < np.log(VOCABULARY) - 1e-3


def test_a_bonus_for_entropy_tells_it_by_step(start: Checkpoint, tmp_path: Path):
    once = figures(start, tmp_path / "once", options={"entropy_coef": 0.1})
    often = figures(start, tmp_path / "often", options={"entropy_coef": 1.0}, epochs=20, learning_rate=1e-2)
    assert once["entropy"] == pytest.approx(frozen_scores(start).entropy_N.mean().item(), rel=1e-5)
    assert often["entropy"] != pytest.approx(once["entropy"], abs=1e-3)  # a mean over twenty steps


def test_the_gradients_norm_is_that_before_it_is_clipped(start: Checkpoint, tmp_path: Path):
    free = figures(start, tmp_path / "free", max_grad_norm=1e6)
    clipped = figures(start, tmp_path / "clipped", max_grad_norm=1e-3)
    assert clipped["grad_norm_first"] == free["grad_norm_first"] > 1e-2


def test_tokens_that_no_engine_sampled_tell_no_mismatch(start: Checkpoint, tmp_path: Path):
    sequences = [replace(sequence, rollout_logp=np.full(4, np.nan, np.float32)) for sequence in episodes()]
    config = LearnConfig.model_validate({**FAST, "algorithm": "grpo"})
    found = GradientLearner(config).learn(LearnerJob(start, sequences, tmp_path / "new", seed=0)).metrics
    assert not any(name.startswith("engine_") for name in found)
