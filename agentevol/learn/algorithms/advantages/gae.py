"""Generalised advantage estimation, and discounted returns-to-go.

Three tokens of one episode, values [0.5, 0.5, 0.5], reward 1 at the last, gamma 1, lambda 0.5:

    delta       [0, 0, 0.5]
    advantage   [0.125, 0.25, 0.5]
    target      [0.625, 0.75, 1]
"""

import numpy as np

from agentevol.core.algorithms.contract import Advantages, Floats, Integers, Rollouts
from agentevol.core.algorithms.options import Fraction


def gae(
    rollouts: Rollouts,
    *,
    gamma: Fraction = 1.0,
    gae_lambda: Fraction = 1.0,
    turn_discount: Fraction = 1.0,
    turn_gae: bool = False,
) -> Advantages:
    """Generalised advantage estimation over learnt tokens (Schulman et al., 2015, arXiv:1506.02438, eq. 16).

    Observation tokens are skipped, so no discount is spent on them. `gamma` discounts from token to token and
    `turn_discount`, in addition, from turn to turn: `gamma` 1 and `turn_discount` 0.99 suit episodes of 20
    turns and more. `turn_gae` has one value (before the turn's first token) and one delta per turn, and gives
    advantage and target to all its tokens (Turn-PPO, arXiv:2512.17008); it has no `gamma`.

    A terminated episode ends with value 0. A truncated one is bootstrapped with the value of its last state,
    `final_value`, discounted as one more step.
    """
    value, sequence, end = rollouts.value, rollouts.sequence, _ends(rollouts)
    if not turn_gae:
        border = _last(sequence) | (np.diff(rollouts.step, append=-1) != 0)
        discount = gamma * np.where(border, turn_discount, 1.0)
        advantage = _backward(rollouts.reward, value, sequence, discount, gae_lambda, end)
        return Advantages(advantage, advantage + value, metrics=explained_variance(value, advantage + value))
    first = np.diff(rollouts.step, prepend=-1) != 0
    turn = np.cumsum(first) - 1
    reward = np.bincount(turn, weights=rollouts.reward).astype(np.float64)
    discount = np.full(len(reward), turn_discount)
    advantage = _backward(reward, value[first], sequence[first], discount, gae_lambda, end)
    target = (advantage + value[first])[turn]
    return Advantages(advantage[turn], target, metrics=explained_variance(value, target))


def _ends(rollouts: Rollouts) -> Floats:
    """(J,) bootstrap value at the end of each episode."""
    if not rollouts.truncated.any():
        return np.zeros(len(rollouts.group))
    return np.where(rollouts.truncated, rollouts.final_value, 0.0)


def returns_to_go(rollouts: Rollouts, gamma: float) -> Floats:
    """(N,) discounted return-to-go: the token's reward and those of the learnt tokens after it."""
    nothing, discount = np.zeros(len(rollouts.reward)), np.full(len(rollouts.reward), gamma)
    end = np.zeros(len(rollouts.group))
    return _backward(rollouts.reward, nothing, rollouts.sequence, discount, 1.0, end)


def explained_variance(value: Floats, target: Floats) -> dict[str, float]:
    """1 - var(target - value) / var(target): 1 for a perfect critic, 0 for one that predicts the mean only.
    Empty where all targets are equal.
    """
    variance = target.var()
    return {"explained_variance": float(1 - (target - value).var() / variance)} if variance > 0 else {}


def _backward(
    reward: Floats, value: Floats, sequence: Integers, discount: Floats, trace: float, end: Floats
) -> Floats:
    """Advantages of P points (tokens or turns) laid end to end.

    `discount` is from each point to the next of its sequence, `end` (J,) the value after the last one.
    """
    advantage = np.empty(len(reward))
    rewards, values, discounts = reward.tolist(), value.tolist(), discount.tolist()
    ends, lasts, sequences = end.tolist(), _last(sequence).tolist(), sequence.tolist()
    following_value = following = 0.0
    for point in range(len(rewards) - 1, -1, -1):
        if lasts[point]:
            following_value, following = ends[sequences[point]], 0.0
        delta = rewards[point] + discounts[point] * following_value - values[point]
        following = delta + discounts[point] * trace * following
        following_value = values[point]
        advantage[point] = following
    return advantage


def _last(sequence: Integers) -> np.ndarray:
    """True for the last point of each sequence."""
    return np.diff(sequence, append=-1) != 0
