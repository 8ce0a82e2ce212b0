"""Causal attention over packed training sequences, for models that use transformers' attention interface.

`attn_implementation="agentevol_packed"` plus `sequences=PackedSequences(...)` in the model's call: each
sequence attends to itself only, and no mask over all tokens is ever built.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from agentevol.core.errors import ConfigError

PACKED_ATTENTION = "agentevol_packed"


@dataclass(frozen=True)
class PackedSequences:
    """Boundaries of the sequences of a packed batch."""

    lengths: tuple[int, ...]
    """Tokens of each sequence; they sum to T."""
    cu_seqlens: torch.Tensor
    """(R + 1,) int32 sequence boundaries on the model's device."""


def packed_attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    sliding_window: int | None = None,
    sequences: PackedSequences | None = None,
    **extras: Any,
) -> tuple[torch.Tensor, None]:
    """Attention of a packed batch: query (1, H, T, D), key and value (1, H_kv, T, D), result (1, T, H, D).

    Raises `ConfigError` for inputs that it cannot compute exactly: no `sequences`, a mask, or extras that
    change the scores.
    """
    if sequences is None or attention_mask is not None:
        raise ConfigError(
            f"{type(module).__name__} does not pass on sequence positions: it cannot be trained packed"
        )
    for extra in ("softcap", "s_aux", "position_bias"):
        if extras.get(extra) is not None:
            raise ConfigError(
                f"{type(module).__name__} uses attention with {extra}, which the learner does not know"
            )
    dropout = dropout if module.training else 0.0
    query, key, value = (as_multiplied(tensor) for tensor in (query, key, value))
    if has_kernel(query.device.type, query.dtype, dropout):
        return _varlen(query, key, value, sequences, scaling, sliding_window), None
    groups = query.shape[1] // key.shape[1]
    if groups > 1:
        key, value = key.repeat_interleave(groups, dim=1), value.repeat_interleave(groups, dim=1)
    lengths = list(sequences.lengths)
    parts = [
        functional.scaled_dot_product_attention(
            sequence_query,
            sequence_key,
            sequence_value,
            attn_mask=_window(sequence_query, sliding_window),
            is_causal=sliding_window is None or sliding_window >= sequence_query.shape[2],
            dropout_p=dropout,
            scale=scaling,
        )
        for sequence_query, sequence_key, sequence_value in zip(
            query.split(lengths, dim=2), key.split(lengths, dim=2), value.split(lengths, dim=2), strict=True
        )
    ]
    return torch.cat([part.transpose(1, 2) for part in parts], dim=1), None


def as_multiplied(tensor: torch.Tensor) -> torch.Tensor:
    """Cast to the type that autocast multiplies in, where it is on: the model rotates queries and keys in
    float32, which no half-precision kernel accepts.
    """
    device = tensor.device.type
    return tensor.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else tensor


def has_kernel(device: str, dtype: torch.dtype, dropout: float) -> bool:
    """True where one kernel can compute all sequences at once."""
    return device == "cuda" and dtype in (torch.float16, torch.bfloat16) and dropout == 0.0


def _window(query: torch.Tensor, sliding_window: int | None) -> torch.Tensor | None:
    """Mask of a sequence longer than the window: a token attends to itself and the window - 1 tokens before
    it.
    """
    length = query.shape[2]
    if sliding_window is None or sliding_window >= length:
        return None
    distance = torch.arange(length, device=query.device)
    distance = distance[:, None] - distance[None, :]
    return (distance >= 0) & (distance < sliding_window)


def _varlen(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    sequences: PackedSequences,
    scaling: float | None,
    sliding_window: int | None,
) -> torch.Tensor:
    """Attention of all sequences in one flash kernel, on CUDA in half precision."""
    from torch.nn.attention.varlen import varlen_attn  # torch 2.10; CUDA only

    longest = max(sequences.lengths)
    before = -1 if sliding_window is None else sliding_window - 1
    attended: Any = varlen_attn(
        query[0].transpose(0, 1),
        key[0].transpose(0, 1),
        value[0].transpose(0, 1),
        sequences.cu_seqlens,
        sequences.cu_seqlens,
        longest,
        longest,
        scale=scaling,
        window_size=(before, 0),
        enable_gqa=query.shape[1] != key.shape[1],
    )
    return attended.unsqueeze(0)


ALL_ATTENTION_FUNCTIONS.register(PACKED_ATTENTION, packed_attention)
