"""Supervised fine-tuning: cross-entropy on the actions, each row with its weight."""

from agentevol.learn.algorithms.contract import Batch, Loss


def sft(batch: Batch, *, dft: bool = False) -> Loss:
    """Weighted token mean: -sum(weight * logp) / sum(weight) over the masked tokens of the optimiser batch.

    Equal weights cancel, so a long episode counts more than a short one. `dft` weights each token by its own
    probability, without gradient (Wu et al., 2025, arXiv:2508.05629), and leaves the denominator alone.
    """
    logp_N = batch.logp[batch.mask]
    weight_N = batch.weight[batch.mask]
    if dft:
        weight_N = weight_N * logp_N.detach().exp()
    return Loss(-(weight_N * logp_N).sum() / batch.totals.weight)
