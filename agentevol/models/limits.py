"""Limits of engines that hold weights: context length, sampling parameters and conversation length."""

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import ContextFull, Sampling

DEFAULT_CONTEXT = 4096
"""Default maximum tokens of a conversation; less where the model's own window is shorter."""

ADAPTER_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""Adapter ranks for which vLLM can be started."""
ADAPTERS_AT_ONCE = 2
"""Adapters that vLLM serves at once: the new ones, and those of requests that began before the update."""


def context_of(wanted: int | None, window: int | None) -> int:
    """Maximum tokens of a conversation, for a model with this `window`. Raises `ConfigError`."""
    if wanted is None:
        return min(window or DEFAULT_CONTEXT, DEFAULT_CONTEXT)
    if wanted < 8:
        raise ConfigError(f"context must be at least 8 tokens, not {wanted}")
    if window and wanted > window:
        raise ConfigError(f"context {wanted} exceeds the {window} tokens that the model was made for")
    return wanted


def check_split(heads: int, kv_heads: int, parallel: int) -> None:
    """Raise `ConfigError` for attention that cannot be split over this many GPUs.

    Every GPU has an equal number of attention heads, and an equal number of key/value heads or a copy of one:
    the rule of vLLM, `ModelConfig.verify_with_parallel_config` and the attention of its models.
    """
    if heads % parallel:
        raise ConfigError(f"engine.tensor_parallel = {parallel} does not divide the model's {heads} heads")
    if max(kv_heads, parallel) % min(kv_heads, parallel):
        raise ConfigError(
            f"engine.tensor_parallel = {parallel}: the model's {kv_heads} heads of keys and values can"
            " neither be divided by it nor be copied evenly"
        )


def adapter_rank(rank: int) -> int:
    """Smallest rank for which vLLM can be started that serves adapters of this rank. Raises `ConfigError`
    where there is none.
    """
    if rank > ADAPTER_RANKS[-1]:
        raise ConfigError(f"vLLM serves adapters of rank {ADAPTER_RANKS[-1]} at most, not {rank}")
    return next(highest for highest in ADAPTER_RANKS if highest >= rank)


def check_sampling(sampling: Sampling) -> None:
    """Raise `ConfigError` for a sampling out of range."""
    if not 0 <= sampling.temperature < float("inf"):
        raise ConfigError(f"temperature must be at least 0, not {sampling.temperature}")
    if not 0 < sampling.top_p <= 1:
        raise ConfigError(f"top_p must be above 0 and at most 1, not {sampling.top_p}")
    if sampling.max_new_tokens < 1:
        raise ConfigError(f"max_new_tokens must be at least 1, not {sampling.max_new_tokens}")


def check_room(prompt_tokens: int, sampling: Sampling, context: int) -> None:
    """Raise `ContextFull` where the prompt leaves no room for all tokens that may be sampled."""
    if prompt_tokens + sampling.max_new_tokens > context:
        asked = f"{prompt_tokens} tokens and {sampling.max_new_tokens} to sample"
        raise ContextFull(f"{asked} exceed the context of {context}")
