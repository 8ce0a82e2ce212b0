"""Verification of an engine's weights: its log-probabilities against those of transformers.

The engine samples a few sequences at temperature 1, in the same way as actions; transformers reads the same
ids in one pass. The prompts are the same for all weights and longer than a block of a prefix cache, so that
stale keys and values after an update are detected like stale weights.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from transformers import PreTrainedModel

from agentevol.core.errors import RunStopped
from agentevol.core.protocols import Checkpoint
from agentevol.engines.interfaces import Sampled

SEQUENCES = 4
PROMPT_TOKENS = 48
NEW_TOKENS = 16
TOLERANCES = {"float32": 2e-4, "bfloat16": 0.15, "float16": 0.05}
"""Largest accepted difference by precision: rounding."""


class Gap(NamedTuple):
    """Distance of an engine's log-probabilities from those of a model."""

    largest: float
    """Largest difference over all tokens; NaN counts as infinite, and so does a sequence without a token."""
    tokens: int
    """Number of tokens compared."""

    def __str__(self) -> str:
        return f"{self.largest:.2g} over {self.tokens} tokens"


def prompts(vocabulary: int, context: int) -> list[list[int]]:
    """Prompts of the probe's sequences; shorter where the context is short."""
    length = min(PROMPT_TOKENS, context // 2)
    return [[(17 * place + 31 * row + 5) % vocabulary for place in range(length)] for row in range(SEQUENCES)]


def new_tokens(context: int) -> int:
    """Number of tokens sampled after each prompt."""
    return min(NEW_TOKENS, context // 4)


def check(
    model: PreTrainedModel,
    begun: Sequence[Sequence[int]],
    sampled: Sequence[Sampled],
    dtype: str,
    checkpoint: Checkpoint,
) -> None:
    """Raise `RunStopped` unless an engine that computes in `dtype` sampled with the weights of `model`, the
    transformers model of `checkpoint`.
    """
    found, allowed = gap(model, begun, sampled), TOLERANCES[dtype]
    if not found.largest <= allowed:
        raise RunStopped(
            f"vLLM does not sample with the weights of {checkpoint.path.name} (version {checkpoint.version}):"
            f" its log-probabilities differ from transformers' by {found}, rounding by at most"
            f" {allowed:g}; take engine.name=embedded, or another release of vLLM"
        )


def gap(model: PreTrainedModel, begun: Sequence[Sequence[int]], sampled: Sequence[Sampled]) -> Gap:
    """The largest difference between the engine's log-probabilities and those of `model`."""
    largest = 0.0 if sampled else float("inf")
    for prompt, sample in zip(begun, sampled, strict=True):
        if not sample.token_ids:
            return Gap(float("inf"), 0)
        ids = torch.tensor([[*prompt, *sample.token_ids]], device=model.device)
        with torch.inference_mode():
            logp_TV = model(input_ids=ids, use_cache=False).logits[0].float().log_softmax(-1).cpu()
        places = torch.arange(len(prompt), ids.shape[1])
        expected_T = logp_TV[places - 1, ids[0, places].cpu()]
        difference = float((expected_T - torch.tensor(sample.logprobs)).abs().max())
        largest = max(largest, difference if difference == difference else float("inf"))
    return Gap(largest, sum(len(sample.token_ids) for sample in sampled))
