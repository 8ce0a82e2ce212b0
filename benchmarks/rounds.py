"""Training round of a comparison: the same steps as `agentevol run` on explored episodes."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from agentevol.config.rewards.reward import TrainedModelReward
from agentevol.config.run import RunConfig
from agentevol.core.algorithms.registry import objective
from agentevol.core.protocols import Checkpoint, LearnerJob, TrainingSequence
from agentevol.core.splits import iteration_seed
from agentevol.data.rewards.run_reward_model import compared, judged, rewarded
from agentevol.data.selection.filters import select
from agentevol.data.training_sequences import sequences_of
from agentevol.learn.batches.trainable_sequences import NothingToLearn
from agentevol.learn.learner import GradientLearner
from agentgym_store.records import Trajectory


def learnt(
    policy: Checkpoint,
    explored: Sequence[Trajectory],
    config: RunConfig,
    number: int,
    out: Path,
    base: Checkpoint,
) -> Checkpoint:
    """Policy after round `number`; the same one where there is nothing to train on.

    Writes `out`. `base` is the policy that the first round began with.
    """
    chosen, seed = (
        objective(config.learn.algorithm, config.learn.options),
        iteration_seed(config.seed, number),
    )
    with contextlib.suppress(NothingToLearn):
        episodes = select(explored, config.select, seed)
        sequences = sequences_of(episodes, chosen, config, config.seed)
        if isinstance(config.reward, TrainedModelReward):
            pairs = compared(episodes, config, config.seed)
            sequences = _judged(sequences, pairs, config, config.reward, number, out, base)
        reference = base if config.learn.reference == "base" else None
        return (
            GradientLearner(config.learn)
            .learn(LearnerJob(policy, sequences, out, seed, reference=reference))
            .checkpoint
        )
    return policy


def _judged(
    sequences: Sequence[TrainingSequence],
    pairs: Sequence[TrainingSequence],
    config: RunConfig,
    reward: TrainedModelReward,
    number: int,
    out: Path,
    base: Checkpoint,
) -> list[TrainingSequence]:
    """Training sequences with scores of this round's reward model, which is trained on `pairs` before."""
    before, place = out.with_name(f"reward-{number - 1}"), out.with_name(f"reward-{number}")
    start = Checkpoint(before, number) if before.is_dir() else base
    learner = GradientLearner(config.reward_learn)
    model = learner.learn(LearnerJob(start, pairs, place, iteration_seed(config.seed, number))).checkpoint
    found = judged(model.path, learner.scores(model, sequences), reward.caution)
    return rewarded(sequences, found, alpha=reward.alpha, beta=reward.beta)
