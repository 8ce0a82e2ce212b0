"""Distillation from an earlier policy on replayed episodes."""

from dataclasses import replace

from agentevol.core.algorithms.contract import Batch, Loss, Objective


def distillation(batch: Batch, *, strength: float = 0.1) -> Loss:
    """strength * mean over replayed tokens of KL(earlier policy || learnt policy), exact or estimated.

    `batch.divergence` has it over the whole vocabulary, where the earlier policy computes a forward pass.
    Otherwise it is estimated: `batch.ref_logp` is the earlier policy's, NaN where a token is new. For its own
    samples y the estimate is r - 1 - ln r, r = learnt / earlier probability of y: never negative, unbiased, 0
    where the policies agree (Schulman, 2020, "Approximating KL divergence", k3 with the roles that the
    sampler prescribes). ln r is clamped at 20. For tokens that others sampled it does not estimate the
    divergence, but still has its minimum where the policies agree.
    """
    if batch.divergence is not None:
        total = batch.divergence.sum()
    else:
        stored = batch.ref_logp.isfinite()
        gap_N = (batch.logp[stored] - batch.ref_logp[stored]).clamp(max=20.0)  # N = replayed tokens
        total = (gap_N.expm1() - gap_N).sum()
    divergence = total / max(1, batch.totals.replayed)
    return Loss(strength * divergence, {"distillation_kl": divergence.item()})


def distilled(objective: Objective, strength: float) -> Objective:
    """Return the objective with the divergence added to its loss."""

    def both(batch: Batch) -> Loss:
        own, held = objective.loss(batch), distillation(batch, strength=strength)
        return Loss(own.value + held.value, {**own.metrics, **held.metrics})

    return replace(objective, loss=both)
