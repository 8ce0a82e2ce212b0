"""Importance weights for the mismatch between the probabilities of engine and learner.

The engine that samples has its own kernels, precision and perhaps older weights. Its mismatch is corrected by
a weight without gradient, separate from the importance ratio of the policy. A token to which the engine gave
-1 and the learner -0.5 has the ratio exp(0.5) = 1.65:

    token       min(1.65, cap)
    sequence    the same of the sum over the sequence's tokens
    masked      1.65 if it is within [floor, cap], else 0
    geometric   1 if the mean over the sequence's tokens is within log(1 + band) of 0, else 0

Tokens that no engine sampled (a NaN) have weight 1 in all of them.
"""

from dataclasses import dataclass, replace
from math import log1p
from typing import Literal

import torch
from torch import Tensor

from agentevol.core.algorithms.contract import Advantages, Rollouts
from agentevol.core.algorithms.options import NotNegative, Positive
from agentevol.learn.algorithms.losses.kl import LOG_LIMIT

Importance = Literal["none", "token", "sequence", "masked", "geometric"]


@dataclass(frozen=True)
class Correction:
    """Form and bounds of the weights; `token` and `sequence` are truncated importance sampling."""

    kind: Importance = "none"
    cap: float = 2.0
    floor: float = 0.5
    band: float = 0.01

    def weights(self, gap_N: Tensor, sequence: Tensor, sequences: int) -> Tensor:
        """(N,) weights, at least 0; `gap_N` is the learner's logp less the engine's, NaN where no engine
        sampled.
        """
        return self._weights_and_ratios(gap_N, sequence, sequences)[0]

    def clipped_fraction(self, gap_N: Tensor, sequence: Tensor, sequences: int) -> float:
        """Share of the tokens whose weight a bound changed."""
        weight_N, ratio_N = self._weights_and_ratios(gap_N, sequence, sequences)
        return (weight_N != ratio_N).double().mean().item()

    def _weights_and_ratios(self, gap_N: Tensor, sequence: Tensor, sequences: int) -> tuple[Tensor, Tensor]:
        """Weights, and the unbounded ratios."""
        sampled_N = gap_N.isfinite()
        known_N = torch.where(sampled_N, gap_N, 0.0).detach()
        if self.kind in ("sequence", "geometric"):
            sums_J = known_N.new_zeros(sequences).index_add(0, sequence, known_N)
            if self.kind == "geometric":
                count_J = torch.zeros_like(sums_J).index_add(0, sequence, sampled_N.to(sums_J))
                kept_J = (sums_J / count_J.clamp(min=1)).abs() <= log1p(self.band)
                return torch.where(sampled_N, kept_J[sequence].to(known_N), 1.0), torch.ones_like(known_N)
            known_N = torch.where(sampled_N, sums_J[sequence], 0.0)
        ratio_N = known_N.clamp(-LOG_LIMIT, LOG_LIMIT).exp()
        if self.kind == "none":
            return torch.ones_like(ratio_N), torch.ones_like(ratio_N)
        if self.kind == "masked":
            kept_N = ~sampled_N | ((ratio_N >= self.floor) & (ratio_N <= self.cap))
            return ratio_N * kept_N, ratio_N
        return torch.where(sampled_N, ratio_N.clamp(max=self.cap), 1.0), ratio_N


def engine_correction(
    rollouts: Rollouts,
    found: Advantages,
    *,
    importance: Importance = "none",
    importance_cap: Positive = 2.0,
    importance_floor: NotNegative = 0.5,
    importance_band: NotNegative = 0.01,
    importance_normalise: bool = False,
) -> Advantages:
    """Add metrics of the mismatch, and of the weights, which the loss itself applies. `importance_normalise`
    divides by their mean.

    The mean is over all tokens of the update, so it divides the advantages here: every surrogate is
    proportional to its advantage, and a micro-batch does not know the mean of all.
    """
    if rollouts.rollout_logp is None or rollouts.old_logp is None:
        return found
    gap_N = torch.from_numpy(rollouts.old_logp - rollouts.rollout_logp)
    if importance == "none":
        return replace(found, metrics={**found.metrics, **mismatch(gap_N)})
    correction = Correction(importance, importance_cap, importance_floor, importance_band)
    sequence, count = torch.from_numpy(rollouts.sequence), len(rollouts.group)
    weight_N = correction.weights(gap_N, sequence, count)
    metrics = {
        **found.metrics,
        **mismatch(gap_N),
        "importance_mean": weight_N.mean().item(),
        "importance_ess": effective_fraction(weight_N),
        "importance_clipfrac": correction.clipped_fraction(gap_N, sequence, count),
    }
    mean = weight_N.mean().item()
    scale = mean if importance_normalise and mean > 0 else 1.0
    return replace(found, advantage=found.advantage / scale, metrics=metrics)


def effective_fraction(weight_N: Tensor) -> float:
    """(sum w)^2 / (N sum w^2): 1 for equal weights, 0 where all are 0."""
    squares = weight_N.square().sum().item() * len(weight_N)
    return weight_N.sum().item() ** 2 / squares if squares > 0 else 0.0


def mismatch(gap_N: Tensor) -> dict[str, float]:
    """Metrics of the gap between engine and learner over the tokens that an engine sampled: `engine_gap_max`
    is that of the worst token, `engine_k3` estimates the divergence of the learner from the engine.

    Alarming values on-policy: `engine_gap_mean` above 0.02 nats, or an effective fraction of the weights
    below 0.9.
    """
    known_N = gap_N[gap_N.isfinite()]
    if not len(known_N):
        return {}
    ratio_N = known_N.clamp(-LOG_LIMIT, LOG_LIMIT).exp()
    return {
        "engine_ratio_mean": ratio_N.mean().item(),
        "engine_ratio_max": ratio_N.max().item(),
        "engine_k3": (ratio_N - known_N.clamp(-LOG_LIMIT, LOG_LIMIT) - 1).mean().item(),
        "engine_gap_mean": known_N.abs().mean().item(),
        "engine_gap_max": known_N.abs().max().item(),
    }
