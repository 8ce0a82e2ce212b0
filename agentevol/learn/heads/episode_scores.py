"""Reward-model scores of whole episodes: the output of each head after the last learnt token."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from agentevol.core.algorithms.contract import Floats
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import micro_batches
from agentevol.learn.batches.packing import packed
from agentevol.learn.network.network import Network


@torch.no_grad()
def final_scores(
    network: Network, sequences: Sequence[TrainingSequence], max_tokens: int
) -> dict[str, Floats]:
    """Episode -> (H,) outputs of the heads after it.

    Of an episode with several training sequences (its template rewrote earlier turns) the last one counts; an
    episode with a sequence of more than `max_tokens` tokens is left out, as is one without a learnt token.
    """
    training = network.model.training
    network.model.eval()
    ends = _ends(sequences, max_tokens)
    found: dict[str, Floats] = {}
    for indices in micro_batches(ends, [[index] for index in range(len(ends))], max_tokens):
        said_RH = network.read(packed(ends, indices)).columns["head"].double().cpu().numpy()
        found.update(zip([ends[index].trajectory_id for index in indices], said_RH, strict=True))
    network.model.train(training)
    return {sequence.trajectory_id: found[sequence.trajectory_id] for sequence in ends}


def _ends(sequences: Sequence[TrainingSequence], max_tokens: int) -> list[TrainingSequence]:
    """One training sequence of each episode, with its last learnt token alone."""
    learnt = [sequence for sequence in sequences if sequence.mask.any()]
    too_long = {sequence.trajectory_id for sequence in learnt if _last(sequence) >= max_tokens}
    last = {sequence.trajectory_id: sequence for sequence in learnt if sequence.trajectory_id not in too_long}
    return [_only_last(sequence) for sequence in last.values()]


def _only_last(sequence: TrainingSequence) -> TrainingSequence:
    length = _last(sequence) + 1
    return replace(
        sequence,
        token_ids=sequence.token_ids[:length],
        rollout_logp=sequence.rollout_logp[:length],
        mask=np.arange(length) == length - 1,
        turn=None,
        labels=None,
        label_samples=None,
    )


def _last(sequence: TrainingSequence) -> int:
    return int(sequence.mask.nonzero()[0][-1])
