"""Perplexity of a policy on data that it is not trained on: exp of the mean -log p of a token."""

import math
from collections.abc import Sequence

import torch

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import micro_batches
from agentevol.learn.batches.packing import packed
from agentevol.learn.batches.trainable_sequences import fit
from agentevol.learn.network.network import Network


@torch.no_grad()
def perplexity(network: Network, sequences: Sequence[TrainingSequence], max_tokens: int) -> float:
    """Perplexity over all learnt tokens of training sequences of at most `max_tokens` tokens; `ConfigError`
    without any.
    """
    fitting = fit(sequences, max_tokens)
    if not fitting.sequences:
        raise ConfigError(f"none of {len(sequences)} sequences can be read: {fitting.reasons(max_tokens)}")
    network.model.eval()
    total, count = 0.0, 0
    alone = [[index] for index in range(len(fitting.sequences))]
    for indices in micro_batches(fitting.sequences, alone, max_tokens):
        logp_N = network.read(packed(fitting.sequences, indices)).columns["logp"]
        total, count = total + logp_N.double().sum().item(), count + len(logp_N)
    return math.exp(min(-total / count, 700.0))
