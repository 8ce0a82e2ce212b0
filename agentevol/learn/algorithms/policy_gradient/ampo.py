"""AMPO: adaptive mode policy optimisation, the advantage of a reply plus that of its thinking mode.

Wang et al., 2025 (arXiv:2505.02156). Of sixteen replies to one state, each in one of four modes, a reply is
compared with the others (as in GRPO), and its mode with the other modes: by mean reward, or, where the modes
earn the same, by mean length, the shorter the better.

The samples of a state are all turns of one group with equal anchors. In single-turn environments each episode
is one sample; in multi-turn environments each turn is a sample of the state that it was taken in. Turns are
compared within recurring states; a turn in a unique state keeps its own reward.

The states of a dialogue hardly recur after its first turn. With `compare` "turn" the samples are all turns of
one group with equal numbers: the third replies of sixteen talks about the same task. With `credit` "episode"
the reward of a turn is what its episode pays from there on, so that a judge of each turn is not needed.
"""

from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from agentevol.core.algorithms.contract import Advantages, Floats, Integers, Rollouts, Steps
from agentevol.core.algorithms.options import Fraction, NotNegative
from agentevol.learn.algorithms.advantages.answer_length import answer_length
from agentevol.learn.algorithms.advantages.baselines import SAME, Singleton
from agentevol.learn.algorithms.advantages.episode_credit import episode_credit
from agentevol.learn.algorithms.advantages.turn_level import (
    members_of,
    relative,
    states,
    turn_numbers,
    turn_returns,
    turn_rewards,
)
from agentevol.learn.algorithms.policy_gradient.family import family

Branch = Literal["reward", "length", "singleton", "invalid", "missing_mode", "singleton_mode"]
"""Basis of the comparison of modes, or the reason for none: the state has one sample, one of mode -1, none of
some mode, a single one of some mode.
"""
COMPARED = ("reward", "length")
NOT_COMPARED = ("singleton", "invalid", "missing_mode", "singleton_mode")


def ampo_advantage(
    rollouts: Rollouts,
    *,
    compare: Literal["state", "turn"] = "state",
    mode_weight: NotNegative = 1.0,
    length_branch: Literal["mode_means", "samples"] = "mode_means",
    modes: Annotated[int, Field(ge=2)] = 4,
    tolerance: NotNegative = 1e-6,
    epsilon: NotNegative = 1e-6,
    gamma: Fraction = 0.0,
    malformed_reward: Annotated[float, Field(allow_inf_nan=False)] = -2.0,
    singleton: Singleton = "raw",
) -> Advantages:
    """Advantage of the sample plus `mode_weight` times that of its mode, equal for all tokens of a turn.

    `compare`: samples are turns of one group in equal states, as in the paper, or turns with equal numbers.
    A weight of 0 leaves GRPO with AMPO's reward; the paper has 1. `length_branch`: modes are compared by
    length where their mean rewards are equal (the authors' code), or where the rewards of all samples are
    (eq. 4). Means are equal within `tolerance`; the authors' code requires equal floating point numbers, so
    rounding decides. Each of the `modes` has to occur at least twice. `gamma` 0 rewards a turn with its own
    reward, as in AMPO's single-turn environments; above 0, with the discounted rewards up to the episode's
    end. `malformed_reward` replaces the environment's reward of a turn whose format is wrong (mode -1 and
    invalid). A sample without others keeps its reward (`singleton` raw, the authors' code) or gets 0.
    """
    steps = rollouts.steps
    malformed_S = steps.invalid & (steps.mode == -1)
    reward_S = np.where(malformed_S, malformed_reward, turn_rewards(rollouts))
    value_S = turn_returns(steps.sequence, reward_S, gamma)
    state_S = states(rollouts) if compare == "state" else turn_numbers(rollouts)
    advantage_S = relative(value_S, state_S, divide=True, epsilon=epsilon, singleton=singleton)
    branches: list[Branch] = []
    for members in members_of(state_S):
        branch, by_mode = mode_part(
            value_S[members],
            steps.tokens[members],
            steps.mode[members],
            modes=modes,
            length_branch=length_branch,
            tolerance=tolerance,
            epsilon=epsilon,
        )
        advantage_S[members] += mode_weight * by_mode
        branches.append(branch)
    return Advantages(advantage_S[rollouts.step], metrics=_metrics(steps, value_S, branches, modes))


def mode_part(
    reward_G: Floats,
    length_G: Integers,
    mode_G: Integers,
    *,
    modes: int,
    length_branch: Literal["mode_means", "samples"],
    tolerance: float,
    epsilon: float,
) -> tuple[Branch, Floats]:
    """Basis of the comparison, and (G,) advantage of the mode of each sample of one state over the other
    modes.

    Means of modes have equal weight, however many samples they have. 0 where modes are not compared.
    """
    if hindrance := _hindrance(mode_G, modes):
        return hindrance, np.zeros(len(mode_G))
    index_G = mode_G - 1
    counts = np.bincount(index_G)
    reward_K = np.bincount(index_G, weights=reward_G) / counts
    length_K = np.bincount(index_G, weights=length_G) / counts
    compared = reward_K if length_branch == "mode_means" else reward_G
    if np.ptp(compared) <= tolerance:
        return "length", np.tanh(-_standard(length_K, epsilon))[index_G]
    return "reward", _standard(reward_K, epsilon)[index_G]


def _hindrance(mode_G: Integers, modes: int) -> Branch | None:
    """Reason why the modes of a state's samples cannot be compared; None where they can."""
    present, counts = np.unique(mode_G, return_counts=True)
    if len(mode_G) == 1:
        return "singleton"
    if (present == -1).any():
        return "invalid"
    if present.tolist() != list(range(1, modes + 1)):
        return "missing_mode"
    return "singleton_mode" if counts.min() == 1 else None


def _standard(mean_K: Floats, epsilon: float) -> Floats:
    if np.ptp(mean_K) <= SAME:
        return np.zeros(len(mean_K))
    return (mean_K - mean_K.mean()) / (mean_K.std(ddof=1) + epsilon)


def _metrics(steps: Steps, value_S: Floats, branches: list[Branch], modes: int) -> dict[str, float]:
    """Metrics: shares of states by basis of comparison, shares of turns by mode, means by mode, modes by
    turn.

    `judge_failures` are turns without a mode that were not malformed: no judge could classify them. Where an
    environment ends the episode for that reason, the episode has failed and is excluded.
    """
    malformed_S = steps.invalid & (steps.mode == -1)
    answer_S = steps.tokens if steps.answer_tokens is None else steps.answer_tokens
    states_by = {name: branches.count(name) / len(branches) for name in (*COMPARED, *NOT_COMPARED)}
    metrics = {
        "format_errors": float(malformed_S.mean()),
        "judge_failures": float(((steps.mode == -1) & ~malformed_S).mean()),
        "answer_tokens": float(answer_S.mean()),
        "mode_advantage_active": states_by["reward"] + states_by["length"],
        **{f"compared_by_{name}": states_by[name] for name in COMPARED},
        **{f"not_compared_{name}": states_by[name] for name in NOT_COMPARED},
    }
    for mode in range(1, modes + 1):
        chosen_S = steps.mode == mode
        metrics[f"mode_{mode}_share"] = float(chosen_S.mean())
        if chosen_S.any():
            metrics[f"mode_{mode}_reward"] = float(value_S[chosen_S].mean())
            metrics[f"mode_{mode}_length"] = float(steps.tokens[chosen_S].mean())
    thought_S = steps.mode > 0
    for turn in np.unique(steps.turn[thought_S]):
        metrics[f"turn_{turn}_mode"] = float(steps.mode[thought_S & (steps.turn == turn)].mean())
    return metrics


ALGORITHM = family(
    ampo_advantage,
    shapings=[episode_credit, answer_length],
    aggregation="seq_mean_token_mean",
    kl_coef=0.001,
    only_with={
        "length_span": "length_target",
        "length_branch": "mode_weight",
        "tolerance": "mode_weight",
        "gamma": ("credit", "turn"),
    },
)
