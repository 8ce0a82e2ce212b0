"""Measurements of policies on held-out questions besides those of their runs."""

import math
from collections.abc import Sequence
from dataclasses import replace

from agentevol.cli.benchmarks.play import play_tasks
from agentevol.cli.benchmarks.rlhf.outcomes import Rate
from agentevol.config.run import RunConfig
from agentevol.core.protocols import Checkpoint
from agentevol.data.rewards.reward_model import sequences_to_judge
from agentevol.learn.learner import GradientLearner
from agentevol.rollout.engine_factory import start_engine
from agentgym_store.records import Trajectory


def answers(config: RunConfig, policy: Checkpoint, temperature: float, seed: int) -> list[Trajectory]:
    """A policy's replies to the held-out questions of a run's evaluations."""
    sampling = replace(config.evaluate_sampling, temperature=temperature)
    engine = start_engine(config.engine, policy, updates=False, all_threads=False)
    try:
        return play_tasks(
            engine.serve(sampling),
            config.environment,
            config.evaluate_split,
            config.evaluate.episodes,
            seed=seed,
            temperature=temperature,
            difficulty=config.evaluate.difficulty,
        )
    finally:
        engine.close()


def rate(episodes: Sequence[Trajectory]) -> Rate:
    """Right answers among the replies that have a return."""
    scored = [one for one in episodes if one.total_reward is not None]
    return Rate(wins=sum(one.succeeded() for one in scored), n=len(scored))


def divergence(
    config: RunConfig, sampled: Sequence[Trajectory], policy: Checkpoint, clone: Checkpoint
) -> float | None:
    """Kullback-Leibler divergence of a policy from its clone, in nats a token: the mean of log p(policy) -
    log p(clone) over the tokens of replies that the policy sampled at temperature 1; None where nothing was
    sampled.
    """
    sequences = sequences_to_judge(sampled)
    if not sequences:
        return None
    learner = GradientLearner(config.learn)
    own, cloned = (learner.perplexity(one, sequences) for one in (policy, clone))
    return math.log(cloned) - math.log(own)
