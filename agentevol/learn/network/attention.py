"""Causal attention over packed training sequences, for models that use transformers' attention interface.

`attn_implementation="agentevol_packed"` plus `sequences=PackedSequences(...)` in the model's call: each
sequence attends to itself only, and no mask over all tokens is ever built.
"""

import inspect
from dataclasses import dataclass
from functools import cache
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
    key, value = _per_query_head(key, query), _per_query_head(value, query)
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
    is_half = dtype in (torch.float16, torch.bfloat16)
    return device == "cuda" and is_half and dropout == 0.0 and _kernel() is not None


def _per_query_head(shared: torch.Tensor, query: torch.Tensor) -> torch.Tensor:
    """Keys or values (1, H_kv, T, D), repeated for the query heads that share them: (1, H, T, D)."""
    groups = query.shape[1] // shared.shape[1]
    return shared if groups == 1 else shared.repeat_interleave(groups, dim=1)


@cache
def _kernel() -> tuple[Any, bool] | None:
    """torch's flash attention over sequences of different lengths, and whether it shares key heads itself.

    None in versions without it, or without its scale and window (before 2.11).
    """
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    known = inspect.signature(varlen_attn).parameters
    return (varlen_attn, "enable_gqa" in known) if {"scale", "window_size"} <= known.keys() else None


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
    kernel = _kernel()
    assert kernel is not None, "has_kernel() tells"
    attend, shares_heads = kernel
    if shares_heads:
        extra = {"enable_gqa": query.shape[1] != key.shape[1]}
    else:
        key, value, extra = _per_query_head(key, query), _per_query_head(value, query), {}
    longest = max(sequences.lengths)
    before = -1 if sliding_window is None else sliding_window - 1
    attended: torch.Tensor = attend(
        *(tensor[0].transpose(0, 1) for tensor in (query, key, value)),
        sequences.cu_seqlens,
        sequences.cu_seqlens,
        longest,
        longest,
        scale=scaling,
        window_size=(before, 0),
        **extra,
    )
    return attended.unsqueeze(0)


ALL_ATTENTION_FUNCTIONS.register(PACKED_ATTENTION, packed_attention)
