"""Aggregation of token values into one scalar.

Two episodes of 1 and 3 tokens and one group, values [4] and [1, 1, 1], horizon 10:

    token_mean                7 / 4
    seq_mean_token_mean       (4 + 1) / 2
    seq_mean_token_sum        (4 + 3) / 2
    seq_mean_token_sum_norm   (4 + 3) / 2 / 10
    prompt_mean               7 / 4, then the mean over groups

`weighted_mean` is for imitation: with weights 1 and 3 of the episodes, the second in sequences of 1 and 2
tokens, and values [4] and [1], [1, 5]

    token_mean                (4 + 3 * 7) / (1 + 3 * 3)
    sequence_mean                  (4 + 3 * 1 + 3 * 3) / (1 + 3 + 3)
    traj_mean                 (4 + 3 * 7 / 3) / (1 + 3)
"""

from typing import TYPE_CHECKING, Literal

from agentevol.core.algorithms.contract import Batch

if TYPE_CHECKING:
    from torch import Tensor

Aggregation = Literal[
    "token_mean", "seq_mean_token_mean", "seq_mean_token_sum", "seq_mean_token_sum_norm", "prompt_mean"
]


def aggregate(batch: Batch, values_N: "Tensor", kind: Aggregation, horizon: int) -> "Tensor":
    """A micro-batch's part of the aggregate over its optimiser batch, scalar.

    `horizon` is a constant number of tokens, read by `seq_mean_token_sum_norm` alone. The mean over
    trajectories is `seq_mean_token_mean`: a sequence is a whole trajectory, also one that forked into
    sequences.
    """
    if kind == "token_mean":
        return values_N.sum() / batch.totals.tokens
    if kind == "prompt_mean":
        return (batch.sums(values_N) / batch.group_tokens).sum() / batch.totals.groups
    if kind == "seq_mean_token_mean":
        return (batch.sums(values_N) / batch.lengths).sum() / batch.totals.sequences
    constant = horizon if kind == "seq_mean_token_sum_norm" else 1
    return values_N.sum() / (constant * batch.totals.sequences)


WeightedMean = Literal["token_mean", "sequence_mean", "traj_mean"]


def weighted_mean(batch: Batch, values_N: "Tensor", kind: WeightedMean) -> "Tensor":
    """A micro-batch's part of the mean over tokens, over sequences (of their means) or over episodes (of
    theirs), each weighted by its episode, scalar.

    A common factor of the weights changes nothing.
    """
    weighted_N = batch.weight[batch.sequence] * values_N
    if kind == "token_mean":
        return weighted_N.sum() / batch.totals.weight
    if kind == "traj_mean":
        return (weighted_N / batch.lengths[batch.sequence]).sum() / batch.totals.sequence_weight
    _, local_N, lengths_R = batch.training_sequence.unique(return_inverse=True, return_counts=True)
    return (weighted_N / lengths_R[local_N]).sum() / batch.totals.training_sequence_weight
