"""GiGPO: group-in-group advantages, of an episode within its group and of a turn within its state.

Feng et al., 2025 (arXiv:2505.10978). Two episodes of a task start at a door; one goes left and succeeds, the
other goes right and fails: their first turns are compared with each other, as their episodes are. Where
states never recur (open dialogue), the second part is 0 and GRPO remains; the metric `recurrence` shows this.
"""

from typing import Literal

import numpy as np

from agentevol.core.algorithms.contract import Advantages, Floats, Integers, Rollouts
from agentevol.core.algorithms.options import Fraction, NotNegative
from agentevol.learn.algorithms.advantages.baselines import Singleton
from agentevol.learn.algorithms.advantages.turn_level import (
    numbered,
    relative,
    states,
    turn_returns,
    turn_rewards,
)
from agentevol.learn.algorithms.policy_gradient.family import family

Statistics = Literal["over_trajectories", "over_steps"]


def gigpo_advantage(
    rollouts: Rollouts,
    *,
    statistics: Statistics = "over_trajectories",
    normalise: Literal["mean_std_norm", "mean_norm"] = "mean_std_norm",
    step_weight: NotNegative = 1.0,
    gamma: Fraction = 0.95,
    similarity: Fraction = 1.0,
    invalid_penalty: NotNegative = 0.0,
    epsilon: NotNegative = 1e-6,
    singleton: Singleton = "raw",
) -> Advantages:
    """Advantage of the episode plus `step_weight` times that of the turn, equal for all tokens of a turn.

    `statistics`: mean and deviation of a group's returns over its episodes (eq. 3), or over their turns, as
    in the authors' code, so that long episodes count more. `similarity` below 1 treats anchors of at least
    that similarity as one state (see `turns.states`). `invalid_penalty` is subtracted from the reward of a
    turn that the environment calls invalid. The authors subtract 0.1, where success pays 10, for replies of
    the wrong form, and from GRPO's rewards too; our environments also call refused actions invalid, and pay 1
    at most. In a failed group only refusals differ: any penalty, divided by its own deviation, counts there
    as much as success elsewhere. A single episode of a group keeps its return (`singleton` raw, the authors'
    code) or gets 0.
    """
    steps = rollouts.steps
    reward_S = turn_rewards(rollouts) - invalid_penalty * steps.invalid
    state_S = states(rollouts, similarity)
    divide = normalise == "mean_std_norm"
    return_J = np.bincount(steps.sequence, weights=reward_S, minlength=len(rollouts.group)).astype(np.float64)
    episode_S = episode_part(
        return_J,
        numbered(rollouts.group),
        steps.sequence,
        statistics=statistics,
        divide=divide,
        epsilon=epsilon,
        singleton=singleton,
    )
    step_S = step_part(turn_returns(steps.sequence, reward_S, gamma), state_S, divide=divide, epsilon=epsilon)
    advantage_S = episode_S + step_weight * step_S
    metrics = _metrics(episode_S, step_weight * step_S, state_S) | _by_environment(rollouts, state_S)
    return Advantages(advantage_S[rollouts.step], metrics=metrics)


def episode_part(
    return_J: Floats,
    group_J: Integers,
    sequence_S: Integers,
    *,
    statistics: Statistics,
    divide: bool,
    epsilon: float,
    singleton: Singleton,
) -> Floats:
    """(S,) advantage of the turn's episode over its group."""
    if statistics == "over_trajectories":
        return relative(return_J, group_J, divide=divide, epsilon=epsilon, singleton=singleton)[sequence_S]
    return relative(
        return_J[sequence_S], group_J[sequence_S], divide=divide, epsilon=epsilon, singleton=singleton
    )


def step_part(to_go_S: Floats, state_S: Integers, *, divide: bool, epsilon: float) -> Floats:
    """(S,) advantage of a turn's return-to-go over others of its state; 0 without others."""
    return relative(to_go_S, state_S, divide=divide, epsilon=epsilon, singleton="zero")


def _metrics(episode_S: Floats, step_S: Floats, state_S: Integers) -> dict[str, float]:
    sizes = np.bincount(state_S)
    by_episode, by_step = np.abs(episode_S).sum(), np.abs(step_S).sum()
    return {
        "state_size": float(sizes.mean()),
        "states_shared": float((sizes > 1).mean()),
        "recurrence": float((sizes[state_S] > 1).mean()),
        "step_share": float(by_step / (by_episode + by_step)) if by_episode + by_step > 0 else 0.0,
    }


def _by_environment(rollouts: Rollouts, state_S: Integers) -> dict[str, float]:
    """Share of the turns in a recurring state, for each environment where there are several."""
    names = sorted(set(rollouts.environment))
    if len(names) < 2:
        return {}
    again_S = np.bincount(state_S)[state_S] > 1
    environment_S = np.array([rollouts.environment[int(episode)] for episode in rollouts.steps.sequence])
    return {f"recurrence_{name}": float(again_S[environment_S == name].mean()) for name in names}


ALGORITHM = family(gigpo_advantage, kl_coef=0.01, only_with={"epsilon": ("normalise", "mean_std_norm")})
