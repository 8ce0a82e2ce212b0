"""Process-reward-model values of whole episodes: the output of each head after each turn.

The output is read after the last token of a turn, as in training; later tokens do not influence it.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import micro_batches
from agentevol.learn.batches.packing import last_tokens, packed
from agentevol.learn.network.network import Network


@torch.no_grad()
def turn_values(
    network: Network, sequences: Sequence[TrainingSequence], max_tokens: int, outputs: int = 1
) -> list[dict[str, dict[int, float]]]:
    """One mapping per head: episode -> turn -> sigmoid of the output after the turn.

    Training sequences of more than `max_tokens` tokens are left out.
    """
    ends = [
        _only_ends(sequence)
        for sequence in sequences
        if sequence.mask.any() and len(sequence.token_ids) <= max_tokens
    ]
    found: list[dict[str, dict[int, float]]] = [{} for _ in range(outputs)]
    network.model.eval()
    for indices in micro_batches(ends, [[index] for index in range(len(ends))], max_tokens):
        said_NH = network.read(packed(ends, indices)).columns["head"].double().sigmoid().tolist()
        places = [
            (ends[index].trajectory_id, turn) for index in indices for turn, _ in last_tokens(ends[index])
        ]
        for (episode, turn), said_H in zip(places, said_NH, strict=True):
            for head, value in zip(found, said_H, strict=True):
                head.setdefault(episode, {})[turn] = value
    return found


def _only_ends(sequence: TrainingSequence) -> TrainingSequence:
    mask = np.zeros_like(sequence.mask)
    mask[[position for _, position in last_tokens(sequence)]] = True
    return replace(sequence, mask=mask)
