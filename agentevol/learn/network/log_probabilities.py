"""Log-probabilities of the trained tokens; the only module that shifts tokens against logits."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError
from agentevol.learn.batches.packing import PackedBatch
from agentevol.learn.network.attention import PackedSequences

CHUNK_LOGITS = 1 << 24
"""Most logits in memory at once, 64 MiB in float32. More are computed in chunks, and again in the backward
pass.
"""


Temperature = float | torch.Tensor
"""Divisor of logits: one, or (N,) of each position."""


class Scores(NamedTuple):
    """Scores of N trained tokens, in the order of the batch."""

    logp_N: torch.Tensor
    """(N,) log-probabilities, float32, with gradient."""
    correct_N: torch.Tensor
    """(N,) bool: the token had the highest logit."""
    entropy_N: torch.Tensor | None = None
    """(N,) entropies in nats, float32, with gradient; None unless requested."""


def predictions(token_ids: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Positions at which the N masked tokens are predicted, and the tokens: the one at t from the logits at t
    - 1.

    `token_ids` (T,) int64 and `mask` (T,) bool give two (N,) int64 tensors. Ids [7, 8] with mask [False,
    True]: token 8 is predicted at position 0. A sequence's first token is never masked, so no sequence is
    predicted from another.
    """
    positions = mask.nonzero().squeeze(1)
    return positions - 1, token_ids[positions]


def token_logp(
    hidden_ND: torch.Tensor,
    head: torch.nn.Linear,
    labels_N: torch.Tensor,
    *,
    temperature: Temperature = 1.0,
    entropy: bool = False,
    chunk_logits: int = CHUNK_LOGITS,
) -> Scores:
    """Natural log-probability of each label under softmax(head(hidden) / temperature), in float32.

    `temperature` is one for all labels, or (N,) of each.

    `entropy` adds that of the same distribution. At most `chunk_logits` logits (at least one position's)
    exist at once, also in the backward pass.
    """
    per_chunk = max(1, chunk_logits // head.out_features)
    if len(labels_N) <= per_chunk:
        return _chunk_logp(hidden_ND, head, labels_N, temperature, entropy)
    parts = zip(
        hidden_ND.split(per_chunk),
        labels_N.split(per_chunk),
        _split(temperature, len(labels_N), per_chunk),
        strict=True,
    )
    chunks = [
        Scores(*checkpoint(_chunk_logp, hidden, head, labels, heat, entropy, use_reentrant=False))
        for hidden, labels, heat in parts
    ]
    return Scores(
        torch.cat([chunk.logp_N for chunk in chunks]),
        torch.cat([chunk.correct_N for chunk in chunks]),
        torch.cat([chunk.entropy_N for chunk in chunks if chunk.entropy_N is not None]) if entropy else None,
    )


def _split(temperature: Temperature, count: int, per_chunk: int) -> Sequence[Temperature]:
    """Temperatures of each chunk of `count` labels."""
    if isinstance(temperature, torch.Tensor):
        return temperature.split(per_chunk)
    return [temperature] * -(-count // per_chunk)


def _chunk_logp(
    hidden_ND: torch.Tensor,
    head: torch.nn.Linear,
    labels_N: torch.Tensor,
    temperature: Temperature,
    entropy: bool,
) -> Scores:
    """Compute `token_logp` of one chunk."""
    heat = temperature[:, None] if isinstance(temperature, torch.Tensor) else temperature
    logits_NV = head(hidden_ND).float() / heat
    correct_N = logits_NV.detach().argmax(dim=1) == labels_N
    logp_N = -functional.cross_entropy(logits_NV, labels_N, reduction="none")
    return Scores(logp_N, correct_N, _entropy(logits_NV) if entropy else None)


def _entropy(logits_NV: torch.Tensor) -> torch.Tensor:
    """(N,) entropies in nats."""
    logp_NV = logits_NV.log_softmax(dim=1)
    return -(logp_NV.exp() * logp_NV).sum(dim=1)


def divergence(
    hidden_ND: torch.Tensor,
    head: torch.nn.Linear,
    earlier_logits_NV: torch.Tensor,
    *,
    chunk_logits: int = CHUNK_LOGITS,
) -> torch.Tensor:
    """(N,) KL(earlier || learnt) over the whole vocabulary, in nats and float32, without temperature.

    At most `chunk_logits` logits of the learnt policy exist at once, as in `token_logp`.
    """
    per_chunk = max(1, chunk_logits // head.out_features)
    if len(hidden_ND) <= per_chunk:
        return _chunk_divergence(hidden_ND, head, earlier_logits_NV)
    chunks = zip(hidden_ND.split(per_chunk), earlier_logits_NV.split(per_chunk), strict=True)
    return torch.cat(
        [
            checkpoint(_chunk_divergence, hidden, head, logits, use_reentrant=False)
            for hidden, logits in chunks
        ]
    )


def _chunk_divergence(
    hidden_ND: torch.Tensor, head: torch.nn.Linear, earlier_logits_NV: torch.Tensor
) -> torch.Tensor:
    """Compute `divergence` of one chunk."""
    logp_NV = head(hidden_ND).float().log_softmax(dim=1)
    return full_divergence(earlier_logits_NV.float().log_softmax(dim=1), logp_NV)


def full_divergence(earlier_logp_NV: torch.Tensor, logp_NV: torch.Tensor) -> torch.Tensor:
    """(N,) KL(earlier || learnt) from both policies' log-probabilities over the whole vocabulary."""
    gap_NV = torch.where(earlier_logp_NV.isneginf(), 0.0, earlier_logp_NV - logp_NV)
    return (earlier_logp_NV.exp() * gap_NV).sum(dim=1)


def score(
    model: PreTrainedModel, batch: PackedBatch, *, temperature: float = 1.0, entropy: bool = False
) -> Scores:
    """Run the forward pass and return scores of the masked tokens. The model's attention is
    `PACKED_ATTENTION`.
    """
    return scored(model, final_hidden(model, batch), batch, temperature=temperature, entropy=entropy)


def scored(
    model: PreTrainedModel,
    hidden_TD: torch.Tensor,
    batch: PackedBatch,
    *,
    temperature: Temperature = 1.0,
    entropy: bool = False,
) -> Scores:
    """Scores of the masked tokens from the input of the model's head."""
    positions_N, labels_N = predictions(batch.token_ids, batch.mask)
    head = output_head(model)
    return token_logp(hidden_TD[positions_N], head, labels_N, temperature=temperature, entropy=entropy)


def model_inputs(batch: PackedBatch) -> dict[str, Any]:
    """Arguments of a transformers model for `batch`."""
    return {
        "input_ids": batch.token_ids.unsqueeze(0),
        "position_ids": batch.position_ids.unsqueeze(0),
        "use_cache": False,
        "sequences": PackedSequences(batch.lengths, batch.cu_seqlens),
    }


def final_hidden(model: PreTrainedModel, batch: PackedBatch) -> torch.Tensor:
    """(T, D) input of the model's head."""
    return model.base_model(**model_inputs(batch)).last_hidden_state[0]


def output_head(model: PreTrainedModel) -> torch.nn.Linear:
    """The linear map from hidden states to logits; raises `ConfigError` where the model has none."""
    head = model.get_output_embeddings()
    if not isinstance(head, torch.nn.Linear):
        raise ConfigError(
            f"{type(model).__name__} has no linear output head: the learner needs a causal language model"
        )
    return head
