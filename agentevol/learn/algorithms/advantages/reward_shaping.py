"""Reward shaping before advantages: a KL penalty, a penalty for length."""

from dataclasses import replace
from typing import Annotated

import numpy as np
from pydantic import Field

from agentevol.core.algorithms.contract import Advantages, Floats, Rollouts
from agentevol.core.algorithms.options import NotNegative
from agentevol.learn.algorithms.losses.kl import KL

Share = Annotated[float, Field(gt=0, le=1)]


def kl_in_reward(rollouts: Rollouts, *, kl_coef: NotNegative = 0.0, kl: KL = "k3") -> Rollouts:
    """Subtract kl_coef * (old_logp - ref_logp) from each token's reward where `kl` is `reward`.

    The loss then has no KL term, so the penalty is never applied twice.
    """
    if kl != "reward" or not kl_coef:
        return rollouts
    gap = rollouts.old_logp - rollouts.ref_logp
    return replace(rollouts, reward=rollouts.reward - kl_coef * gap)


def overlong(
    rollouts: Rollouts,
    *,
    overlong_cap: Annotated[int, Field(ge=0)] = 0,
    overlong_buffer: Share = 0.2,
    overlong_factor: NotNegative = 1.0,
) -> Rollouts:
    """DAPO's soft punishment of long episodes (Yu et al., 2025, arXiv:2503.14476, eq. 13), at the last token.

    `overlong_cap` is in sampled tokens of the whole episode, over all turns; 0 is off. The paper has 20480,
    of which the last `overlong_buffer`, a fifth, is where the penalty grows.
    """
    if not overlong_cap:
        return rollouts
    steps, episodes = rollouts.steps, len(rollouts.group)
    tokens = np.bincount(steps.sequence, weights=steps.tokens, minlength=episodes).astype(np.float64)
    penalty = overlong_factor * overlong_penalty(tokens, overlong_cap, overlong_buffer)
    last = np.diff(rollouts.sequence, append=-1) != 0
    return replace(rollouts, reward=rollouts.reward + np.where(last, penalty[rollouts.sequence], 0.0))


def overlong_penalty(tokens: Floats, cap: int, buffer: float) -> Floats:
    """0 up to (1 - buffer) * cap tokens, then down in a straight line to -1 at `cap` and beyond."""
    return -np.clip((tokens - (1 - buffer) * cap) / (buffer * cap), 0.0, 1.0)


def without_overlong(rollouts: Rollouts, found: Advantages, *, mask_overlong: bool = False) -> Advantages:
    """Exclude truncated episodes from the loss, though not from their group's statistics."""
    if not mask_overlong:
        return found
    advantage = np.where(rollouts.truncated[rollouts.sequence], 0.0, found.advantage)
    return replace(found, advantage=advantage, kept=~rollouts.truncated)
