"""Probabilities of given tokens after prompts: what a policy would say next, without sampling."""

from collections.abc import Sequence

import numpy as np
import torch

from agentevol.core.algorithms.contract import Floats
from agentevol.core.protocols import TrainingSequence
from agentevol.learn.batches.batch_plan import micro_batches
from agentevol.learn.batches.packing import UNKNOWN, packed
from agentevol.learn.network.network import Network

Prompt = tuple[str, Sequence[int]]
"""Name of a prompt, and its token ids."""


@torch.no_grad()
def next_token_logp(
    network: Network, prompts: Sequence[Prompt], ids: Sequence[int], max_tokens: int
) -> dict[str, Floats]:
    """Prompt -> (D,) natural log-probabilities of the tokens `ids` right after it, at temperature 1.

    Prompts that with one more token have more than `max_tokens` tokens are left out.
    """
    asked = [_open(name, tokens) for name, tokens in prompts if len(tokens) < max_tokens]
    network.model.eval()
    found: dict[str, Floats] = {}
    for indices in micro_batches(asked, [[index] for index in range(len(asked))], max_tokens):
        logp_RV = network.logits(packed(asked, indices)).log_softmax(dim=1)
        logp_RD = logp_RV[:, list(ids)].double().cpu().numpy()
        found.update(zip([asked[index].trajectory_id for index in indices], logp_RD, strict=True))
    return {one.trajectory_id: found[one.trajectory_id] for one in asked}


def _open(name: str, tokens: Sequence[int]) -> TrainingSequence:
    """The prompt with one more token, whose prediction is read; which one it is changes nothing."""
    length = len(tokens) + 1
    return TrainingSequence(
        np.asarray([*tokens, 0], np.int32),
        np.arange(length) == length - 1,
        np.full(length, UNKNOWN, np.float32),
        1.0,
        name,
        replayed=True,  # whose logits a network returns
    )
