"""Supervised fine-tuning: cross-entropy on the actions, each episode with its weight."""

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.learn.algorithms.losses.aggregation import WeightedMean, weighted_mean


def sft(batch: Batch, *, dft: bool = False, aggregation: WeightedMean = "token_mean") -> Loss:
    """Weighted mean of -logp over the learnt tokens of the optimiser batch, or of the means of its sequences
    or its episodes.

    Equal weights cancel. In a token mean a long episode counts more than a short one; in a row mean, one of
    many sequences. `dft` weights each token by its own probability, without gradient (Wu et al., 2025,
    arXiv:2508.05629), and does not change the denominator.
    """
    gained_N = batch.logp.detach().exp() * batch.logp if dft else batch.logp
    return Loss(-weighted_mean(batch, gained_N, aggregation))


ALGORITHM = Algorithm(loss=sft, data="episodes")
