"""Importance ratios and per-token surrogate objectives, to be minimised.

Ratio 2, advantage 1, clip 0.2 and 0.2, token log-probability -1:

    clip        max(-1 * 2, -1 * 1.2) = -1.2
    cispo       -sg(1.2) * 1 * -1 = 1.2
    reinforce   -1 * -1 = 1
"""

from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

from agentevol.core.algorithms.contract import Batch
from agentevol.learn.algorithms.losses.kl import LOG_LIMIT

Ratio = Literal["token", "sequence"]
Surrogate = Literal["clip", "cispo", "reinforce"]

SEQUENCE_LOG_LIMIT = 10.0
"""Upper clip of a sequence's mean log-ratio, as in verl 0.9.1."""


@dataclass(frozen=True)
class Clipping:
    """Bounds of the importance ratio."""

    low: float = 0.2
    high: float = 0.2
    dual: float = 3.0
    """Bound of the loss for negative advantages, as a multiple of -advantage; 0 is off."""


@dataclass(frozen=True)
class Surrogates:
    """Loss of each token, and the bounds that act on it."""

    loss_N: Tensor
    acts_N: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    """Masks by the name of the bound: low, high, dual."""


def token_ratio(batch: Batch) -> Tensor:
    """(N,) exp(logp - old_logp)."""
    return (batch.logp - batch.old_logp).clamp(-LOG_LIMIT, LOG_LIMIT).exp()


def sequence_ratio(batch: Batch) -> Tensor:
    """(N,) the geometric mean of a sequence's token ratios, at each of its tokens.

    GSPO (Zheng et al., 2025, arXiv:2507.18071, eq. 14): the value is the sequence's, the gradient of each
    token's ratio reaches that token's log-probability alone.
    """
    mean_J = batch.sums((batch.logp - batch.old_logp).detach()) / batch.lengths
    own_N = batch.logp - batch.logp.detach()  # 0, with gradient
    return (own_N + mean_J[batch.sequence]).clamp(max=SEQUENCE_LOG_LIMIT).exp()


def clipped(ratio_N: Tensor, advantage_N: Tensor, clipping: Clipping) -> Surrogates:
    """PPO's clipped surrogate (Schulman et al., 2017, arXiv:1707.06347, eq. 7), negated.

    The dual clip (Ye et al., 2020, arXiv:1912.09729) bounds the loss of a token of negative advantage and
    large ratio.
    """
    free_N = -advantage_N * ratio_N
    bound_N = -advantage_N * ratio_N.clamp(1 - clipping.low, 1 + clipping.high)
    loss_N = torch.maximum(free_N, bound_N)
    binds_N = bound_N > free_N
    acts_N = {"low": binds_N & (ratio_N < 1), "high": binds_N & (ratio_N > 1)}
    if clipping.dual:
        ceiling_N = -advantage_N * clipping.dual
        acts_N["dual"] = (advantage_N < 0) & (loss_N > ceiling_N)
        loss_N = torch.where(advantage_N < 0, torch.minimum(loss_N, ceiling_N), loss_N)
    return Surrogates(loss_N, acts_N)


def clipped_weight(logp_N: Tensor, ratio_N: Tensor, advantage_N: Tensor, clipping: Clipping) -> Surrogates:
    """CISPO (MiniMax, 2025, arXiv:2506.13585): the clipped ratio is a weight without gradient.

    No token loses its gradient. Wide bounds make it REINFORCE with the ratio as weight.
    """
    low, high = 1 - clipping.low, 1 + clipping.high
    weight_N = ratio_N.detach().clamp(low, high)
    return Surrogates(-weight_N * advantage_N * logp_N, {"low": ratio_N < low, "high": ratio_N > high})


def reinforce(logp_N: Tensor, advantage_N: Tensor) -> Surrogates:
    """The log-probability times the advantage, negated: exact for the first step on a batch."""
    return Surrogates(-advantage_N * logp_N)
