"""Policy-gradient core, of which PPO, GRPO, Dr. GRPO, RLOO, REINFORCE++, DAPO, GSPO and CISPO are settings.

loss = aggregate(importance * surrogate(ratio, advantage))
     + kl_coef * aggregate(kl(logp, ref_logp)) - entropy_coef * aggregate(entropy)
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from agentevol.core.algorithms.contract import Batch, Loss
from agentevol.core.algorithms.options import NotNegative, OffOrAboveOne, Positive
from agentevol.learn.algorithms.losses.aggregation import Aggregation, aggregate
from agentevol.learn.algorithms.losses.importance import Correction, Importance
from agentevol.learn.algorithms.losses.kl import KL, divergence
from agentevol.learn.algorithms.losses.surrogates import (
    Clipping,
    Ratio,
    Surrogate,
    Surrogates,
    clipped,
    clipped_weight,
    reinforce,
    sequence_ratio,
    token_ratio,
)


def policy_gradient(
    batch: Batch,
    *,
    ratio: Ratio = "token",
    surrogate: Surrogate = "clip",
    clip_low: NotNegative = 0.2,
    clip_high: NotNegative = 0.2,
    dual_clip: OffOrAboveOne = 3.0,
    aggregation: Aggregation = "token_mean",
    horizon: Annotated[int, Field(ge=1)] = 4096,
    kl_coef: NotNegative = 0.0,
    kl: KL = "k3",
    entropy_coef: NotNegative = 0.0,
    importance: Importance = "none",
    importance_cap: Positive = 2.0,
    importance_floor: NotNegative = 0.5,
    importance_band: NotNegative = 0.01,
) -> Loss:
    """Negative surrogate objective of the learnt tokens, with KL penalty and entropy bonus.

    The ratio is to `old_logp`, the learner's own at the start of the update; beyond 1 - `clip_low` and 1 +
    `clip_high` the objective does not improve. `horizon` is the number of tokens of the longest episode that
    the configuration admits. Importance weights apply to the surrogate alone, not to KL and entropy.
    """
    ratio_N = sequence_ratio(batch) if ratio == "sequence" else token_ratio(batch)
    clipping = Clipping(clip_low, clip_high, dual_clip)
    found = _surrogates(batch, surrogate, ratio_N, clipping)
    loss_N = found.loss_N
    if importance != "none":
        correction = Correction(importance, importance_cap, importance_floor, importance_band)
        loss_N = loss_N * _weights(batch, correction)
    loss = aggregate(batch, loss_N, aggregation, horizon)
    metrics = {"policy_loss": loss.item(), **_figures(batch, found, ratio_N)}
    if kl_coef:
        # the penalty in the rewards is that of the policy that sampled, whose k1 is unbiased on its samples
        own_N = batch.old_logp if kl == "reward" else batch.logp
        penalty_N = divergence(kl, own_N - batch.ref_logp, ratio_N)
        metrics["kl"] = _token_mean(batch, penalty_N)
        if kl != "reward":
            loss = loss + kl_coef * aggregate(batch, penalty_N, aggregation, horizon)
    if entropy_coef:
        loss = loss - entropy_coef * aggregate(batch, batch.entropy, aggregation, horizon)
        metrics["entropy"] = _token_mean(batch, batch.entropy)
    return Loss(loss, metrics)


def _surrogates(batch: Batch, kind: Surrogate, ratio_N: Tensor, clipping: Clipping) -> Surrogates:
    if kind == "clip":
        return clipped(ratio_N, batch.advantage, clipping)
    if kind == "cispo":
        return clipped_weight(batch.logp, ratio_N, batch.advantage, clipping)
    return reinforce(batch.logp, batch.advantage)


def _weights(batch: Batch, correction: Correction) -> Tensor:
    gap_N = batch.old_logp - batch.rollout_logp
    return correction.weights(gap_N, batch.sequence, len(batch.weight))


def _figures(batch: Batch, found: Surrogates, ratio_N: Tensor) -> dict[str, float]:
    """Metrics: shares of the tokens at which a bound acts, the ratio, and the change of the policy."""
    fractions = {f"clipfrac_{bound}": _token_mean(batch, acts_N) for bound, acts_N in found.acts_N.items()}
    return {
        **fractions,
        "ratio_mean": _token_mean(batch, ratio_N),
        "ratio_max": ratio_N.max().item(),
        "approx_kl": _token_mean(batch, batch.old_logp - batch.logp),
    }


def _token_mean(batch: Batch, values_N: Tensor) -> float:
    return values_N.detach().sum(dtype=torch.float64).item() / batch.totals.tokens
