"""Training sequences in the learner: kinds, masks, long ones, environments, and the old policy."""

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support.tiny_models import qwen2, write_model
from support.trajectories import trajectory

from agentevol.config.run import RunConfig, TrainConfig, load
from agentevol.config.sections.learner import LearnConfig
from agentevol.config.sections.selection import SelectConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.data.training_sequences import grouped, imitated
from agentevol.learn.batches.packing import packed
from agentevol.learn.learner import GradientLearner
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.learn.network.log_probabilities import score
from agentevol.learn.resume import fingerprint
from agentevol.models.causal_lm import load_model
from agentgym_store.records import Sample, Trajectory, Turn

VOCABULARY = 12
FAST = LearnConfig(
    learning_rate=1e-2, batch_tokens=400, micro_batch_tokens=60, device="cpu", threads=1, max_logp_gap=9.0
)
RATIO = FAST.model_copy(update={"algorithm": "grpo"})


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> Checkpoint:
    return write_model(tmp_path_factory.mktemp("sequences"), qwen2(VOCABULARY), version=3)


def episode(
    name: str, *rewards: float, env: str = "guess", mask: tuple[int, ...] | None = None
) -> Trajectory:
    """Turns that read one token and say two, drawn by the name; each prompt extends what came before."""
    random = np.random.default_rng([ord(letter) for letter in name])
    turns, prompt = [], [1]
    for reward in rewards:
        said = tuple(random.integers(2, VOCABULARY, 2).tolist())
        sample = Sample(
            text="", prompt_ids=tuple(prompt), token_ids=said, logprobs=(-2.0, -3.0), policy_version=3,
            loss_mask=mask,
        )  # fmt: skip
        turns.append(Turn(action="", observation="", reward=reward, sample=sample))
        prompt += [*said, 1]
    return trajectory(id=name, env=env, turns=tuple(turns))


GROUP = [episode("a", 0.0, 0.0, 1.0), episode("b", 0.0, 0.5), episode("c", 0.0)]


def learnt(
    config: LearnConfig, start: Checkpoint, sequences: list[TrainingSequence], out: Path, **change: Any
) -> dict[str, float]:
    return (
        GradientLearner(config.model_copy(update=change)).learn(LearnerJob(start, sequences, out, 0)).metrics
    )


def weights(path: Path) -> torch.Tensor:
    return torch.cat(
        [tensor.flatten() for tensor in load_model(path, PACKED_ATTENTION).state_dict().values()]
    )


@pytest.mark.parametrize("limit", [60, 14])  # in one pass, and where the sequences of an episode need several
@pytest.mark.parametrize(("algorithm", "options"), [("sft", {"aggregation": "traj_mean"}), ("grpo", {})])
def test_sequences_of_single_turns_teach_the_same_as_sequences_of_episodes(
    start: Checkpoint, tmp_path: Path, algorithm: str, options: dict, limit: int
):
    chosen = objective(algorithm, options)
    config = FAST.model_copy(update={"algorithm": algorithm, "options": options})
    made: dict[str, dict[str, float]] = {}
    for kind in ("append_only", "per_step"):
        if algorithm == "grpo":
            sequences = grouped(GROUP, chosen, kind)
        else:
            sequences = imitated(GROUP, chosen, SelectConfig(turns="all", sequences=kind))
        made[kind] = learnt(config, start, sequences, tmp_path / kind, micro_batch_tokens=limit)
    assert (made["append_only"]["sequences"], made["per_step"]["sequences"]) == (3, 6)
    assert made["per_step"]["loss_first"] == pytest.approx(made["append_only"]["loss_first"], abs=1e-5)
    gap = (weights(tmp_path / "append_only") - weights(tmp_path / "per_step")).abs().max()
    assert gap.item() < 1e-5  # rounding; a step moves weights by up to 1e-2
    assert (weights(tmp_path / "per_step") - weights(start.path)).abs().max().item() > 1e-3


def test_a_sequence_mean_counts_an_episode_of_three_sequences_three_times(start: Checkpoint, tmp_path: Path):
    sequences = imitated(GROUP, objective("sft"), SelectConfig(turns="all", sequences="per_step"))
    losses = {
        kind: learnt(FAST, start, sequences, tmp_path / kind, options={"aggregation": kind})["loss_first"]
        for kind in ("token_mean", "sequence_mean", "traj_mean")
    }
    assert losses["sequence_mean"] == pytest.approx(
        losses["token_mean"], abs=1e-6
    )  # every sequence has two tokens
    assert losses["traj_mean"] != pytest.approx(losses["sequence_mean"], abs=1e-3)


def test_figures_of_an_update_by_environment_and_by_what_became_of_sequences(
    start: Checkpoint, tmp_path: Path
):
    episodes = [
        episode("a", 1.0), episode("b", 1.0, env="chat", mask=(0, 1)), episode("c", 1.0, mask=(0, 0)),
        episode("d", *[1.0] * 4),
    ]  # fmt: skip
    sequences = imitated(episodes, objective("sft"), SelectConfig(turns="all"))
    figures = learnt(
        FAST, start, sequences, tmp_path / "new", micro_batch_tokens=6, overflow="cut_left_turns"
    )
    # c has nothing to learn; d has 12 tokens, and of its last two turns 6 are left
    assert (figures["sequences"], figures["sequences_empty_mask"], figures["sequences_dropped_empty"]) == (
        3,
        1,
        1,
    )
    assert (figures["sequences_cut_left"], figures["sequences_dropped_overflow"]) == (1, 0)
    assert (figures["tokens_trained"], figures["drift_events"]) == (2 + 1 + 4, 0)
    assert figures["mask_fraction"] == pytest.approx(7 / 12)
    guess, chat = figures["nll_guess"], figures["nll_chat"]
    assert (6 * guess + 1 * chat) / 7 == pytest.approx(figures["loss_mean"], abs=1e-5)
    assert guess != pytest.approx(chat, abs=1e-3)


def test_long_sequences_are_dropped_with_a_count_unless_told_otherwise(start: Checkpoint, tmp_path: Path):
    sequences = imitated(
        [episode("a", 1.0), episode("d", *[1.0] * 4)], objective("sft"), SelectConfig(turns="all")
    )
    figures = learnt(FAST, start, sequences, tmp_path / "new", micro_batch_tokens=6)
    assert (figures["sequences"], figures["sequences_dropped_overflow"], figures["sequences_cut_left"]) == (
        1,
        1,
        0,
    )
    with pytest.raises(ConfigError, match="episode d has 12 tokens, more than 6"):
        learnt(FAST, start, sequences, tmp_path / "other", micro_batch_tokens=6, overflow="error")


def own_logp(start: Checkpoint, sequence: TrainingSequence) -> np.ndarray:
    with torch.no_grad():
        return score(load_model(start.path, PACKED_ATTENTION), packed([sequence], [0])).logp_N.numpy()


def recorded(start: Checkpoint, shift: float) -> list[TrainingSequence]:
    """Sequences of a group whose engine was so far off, the same for every token."""
    sequences = grouped(GROUP, objective("grpo"))
    for sequence in sequences:
        sequence.rollout_logp[sequence.mask] = own_logp(start, sequence) - shift
    return sequences


def test_the_ratio_is_to_the_learners_own_pass_or_to_what_the_engine_recorded(
    start: Checkpoint, tmp_path: Path
):
    sequences = recorded(start, 0.25)
    own = learnt(RATIO, start, sequences, tmp_path / "own", options={"kl_coef": 0.1})
    bypass = learnt(
        RATIO, start, sequences, tmp_path / "bypass", options={"kl_coef": 0.1}, old_logprobs="rollout"
    )
    assert own["ratio_mean"] == pytest.approx(1.0, abs=1e-5)
    assert "old_mismatch" not in own
    assert bypass["ratio_mean"] == pytest.approx(np.exp(0.25), abs=1e-4)
    assert bypass["old_mismatch"] == pytest.approx(0.25, abs=1e-5)
    # the reference is the start's own pass either way, not what the engine said
    assert own["kl"] == pytest.approx(0.0, abs=1e-6)
    assert bypass["kl"] == pytest.approx(0.0, abs=1e-6)


def test_the_mismatch_is_told_also_where_other_weights_have_sampled(start: Checkpoint, tmp_path: Path):
    sequences = [replace(sequence, policy_version=1) for sequence in recorded(start, 0.25)]
    figures = learnt(RATIO, start, sequences, tmp_path / "new", old_logprobs="rollout")
    assert isnan(figures["logp_gap"])  # says whether engine and learner agree, and nobody can tell
    assert figures["old_mismatch"] == pytest.approx(0.25, abs=1e-5)


def test_a_token_that_no_engine_sampled_has_no_recorded_probability(start: Checkpoint, tmp_path: Path):
    sequences = recorded(start, 0.0)
    sequences[1] = replace(sequences[1], policy_version=None)
    sequences[1].rollout_logp[sequences[1].mask] = np.nan
    with pytest.raises(ConfigError, match="episode b has tokens that no engine sampled"):
        learnt(RATIO, start, sequences, tmp_path / "new", old_logprobs="rollout")


def test_a_learner_goes_on_from_a_state_of_the_same_masks_only(start: Checkpoint):
    (sequence,) = imitated([episode("a", 1.0)], objective("sft"), SelectConfig(turns="all"))
    (other,) = imitated([episode("a", 1.0, mask=(0, 1))], objective("sft"), SelectConfig(turns="all"))
    one, same, another = (
        fingerprint(FAST, start, sequences=[each]) for each in (sequence, replace(sequence), other)
    )
    assert one == same != another


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (
            ["algorithm=dpo", "learn.old_logprobs=rollout"],
            "old_logprobs has no effect: dpo has no old policy",
        ),
        (
            ["algorithm=grpo", "learn.old_logprobs=rollout", "learn.options.importance=token"],
            "leaves options.importance nothing to correct",
        ),
        (["algorithm=grpo", "learn.overflow=cut_left_turns"], "grpo reads whole groups"),
        (["algorithm=dpo", "learn.overflow=cut_left_turns"], "dpo reads whole pairs"),
        (
            ["algorithm=sft", "learn.overflow=cut_left_turns", "select.sequences=per_step"],
            "has no effect with select.sequences = 'per_step'",
        ),
        (
            ["algorithm=orpo", "learn.options.nll_scope=all", "select.sequences=per_step"],
            "nll_scope = 'all' reads whole episodes",
        ),
        (
            ["algorithm=kto", "learn.options.kto_reference=mismatched", "select.sequences=per_step"],
            "kto_reference = 'mismatched' reads whole episodes",
        ),
        (
            ["algorithm=bradley_terry", "select.sequences=per_step"],
            "bradley_terry reads the end of episodes only",
        ),
        (["algorithm=sft", "select.thresholds.guess=0.5"], "without select.rule = 'threshold'"),
        (["algorithm=filtered_bc", "learn.options.threshold=0.5"], "keeps only returns of at least 0.999"),
        (
            ["algorithm=sft", "select.sequences=append"],
            "select.sequences: Input should be 'fork', 'append_only'",
        ),
    ],
)
def test_settings_that_cannot_take_effect_are_refused(overrides: list[str], message: str):
    with pytest.raises(ConfigError, match=message):
        load(None, overrides, TrainConfig)


def test_a_run_has_thresholds_of_its_own_environment_only():
    given = ["environment.name=guess", "select.rule=threshold", "select.thresholds.guess=0.5"]
    assert load(None, given).select.thresholds == {"guess": 0.5}
    with pytest.raises(ConfigError, match=r"thresholds\.chat has no effect: the run's environment is guess"):
        load(None, [*given, "select.thresholds.chat=0.5"])
    retained = load(None, [*given, "select.thresholds.chat=0.5", "retained.data=x", "select.merge=replay"])
    assert isinstance(retained, RunConfig)


def test_the_setting_of_an_old_policy_is_not_handed_to_a_reward_model_of_turns():
    given = ["algorithm=grpo", "learn.old_logprobs=rollout", "process.continuations=2"]
    run = load(None, given)
    assert (run.learn.old_logprobs, run.process_learn.old_logprobs) == ("rollout", "recomputed")


def test_weights_of_returns_have_groups_with_failures_to_weigh_by_default():
    for name in ("weighted_bc", "softmax_bc"):
        assert (load(None, [f"algorithm={name}"]).select.rule) == "all"
    assert load(None, ["algorithm=sft"]).select.rule == "succeeded"
