"""Arguments, requests and outputs of vLLM in its own types."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch
from transformers import AutoConfig, PreTrainedModel

from agentevol.core.errors import ConfigError, one_line
from agentevol.engines.interfaces import Sampled
from agentevol.engines.vllm.capabilities import Capabilities
from agentevol.engines.vllm.policy import Order
from agentevol.models.limits import check_split

CPU_BLOCK = 32
"""Tokens of a block of the prefix cache on a CPU. vLLM's own default there, 128, exceeds most turns."""


def engine_arguments(
    vllm: Capabilities,
    folder: Path,
    model: PreTrainedModel,
    slots: int,
    context: int,
    dtype: str,
    cache_gib: float | None,
    tensor_parallel: int = 1,
    more: Mapping[str, Any] | None = None,
) -> Any:
    """Engine arguments of vLLM; `more` are additional ones of a kind of engine. Raises `ConfigError` for a
    model that `tensor_parallel` does not divide.
    """
    if slots < 1:
        raise ConfigError(f"slots must be at least 1, not {slots}")
    check_split(*_heads(model.config), tensor_parallel)
    cache_bytes = None if cache_gib is None else int(cache_gib * 2**30)
    if cache_bytes is None and vllm.on_cpu:
        cache_bytes = slots * _cache_bytes(model, context, tensor_parallel)
    return vllm.AsyncEngineArgs(
        model=str(folder),
        skip_tokenizer_init=True,
        dtype=dtype,
        seed=0,  # requests have their own
        load_format="safetensors",
        max_model_len=context,
        max_num_seqs=slots,
        block_size=CPU_BLOCK if vllm.on_cpu else None,
        enable_prefix_caching=True,
        # its CPU build dies of a chunked prompt that has a seed: `CPU Generator does not use offset`
        enable_chunked_prefill=False if vllm.on_cpu else None,
        tensor_parallel_size=tensor_parallel,
        # else vLLM would look for the other GPUs in Ray's placement group, where its own process has them
        distributed_executor_backend=vllm.UniProcExecutor if tensor_parallel == 1 else "mp",
        enforce_eager=vllm.on_cpu,  # compiling takes longer there than it saves
        generation_config="vllm",  # not the checkpoint's: the request alone determines the sampling
        kv_cache_memory_bytes=cache_bytes,
        logprobs_mode="processed_logprobs",  # of the distribution from which the token was drawn
        disable_log_stats=True,
        **(more or {}),
    )


def check_heads(folder: Path, tensor_parallel: int) -> None:
    """Raise `ConfigError` for a checkpoint whose attention cannot be split over this many GPUs."""
    try:
        config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
        heads, kv_heads = _heads(config)
    except (AttributeError, OSError, ValueError) as cause:
        raise ConfigError(f"cannot build a model from {folder / 'config.json'}: {one_line(cause)}") from cause
    check_split(heads, kv_heads, tensor_parallel)


def _heads(config: Any) -> tuple[int, int]:
    """Number of attention heads and of key/value heads in a transformers configuration."""
    text = config.get_text_config()
    heads = int(text.num_attention_heads)
    return heads, int(getattr(text, "num_key_value_heads", None) or heads)


def _cache_bytes(model: PreTrainedModel, context: int, tensor_parallel: int) -> int:
    """Bytes of the keys and values of a full conversation, in whole blocks, on each of the devices."""
    config: Any = model.config.get_text_config()
    heads, kv_heads = _heads(config)
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    token_bytes = 2 * config.num_hidden_layers * max(1, kv_heads // tensor_parallel) * size
    token_bytes *= model.dtype.itemsize
    return (context // CPU_BLOCK + 2) * CPU_BLOCK * token_bytes


def vocabulary_size(model: PreTrainedModel) -> int:
    """Size of the model's vocabulary."""
    return cast(torch.nn.Embedding, model.get_input_embeddings()).num_embeddings


def parameters_of(vllm: Capabilities, order: Order) -> Any:
    """Sampling parameters of an order."""
    sampling = order.sampling
    return vllm.SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_new_tokens,
        seed=order.seed & (2**63 - 1),
        logprobs=0,  # of the sampled token alone
        stop_token_ids=list(order.served.stop_ids),
        detokenize=False,
        output_kind=vllm.RequestOutputKind.FINAL_ONLY,
        **({"skip_clone": True} if "skip_clone" in vllm.SamplingParams.__struct_fields__ else {}),
    )


def probe_parameters(vllm: Capabilities, seed: int, count: int) -> Any:
    """Sampling parameters of a probe that samples `count` tokens."""
    return vllm.SamplingParams(
        temperature=1.0,
        max_tokens=count,
        seed=seed,
        logprobs=0,
        ignore_eos=True,
        detokenize=False,
        output_kind=vllm.RequestOutputKind.FINAL_ONLY,
    )


def sampled_of(output: Any) -> Sampled | None:
    """Ids and log-probabilities of a finished request; None for an aborted one."""
    said = output.outputs[0] if output is not None and output.outputs else None
    if said is None or said.finish_reason not in ("stop", "length"):
        return None
    ids = tuple(int(token) for token in said.token_ids)
    logprobs = tuple(float(step[token].logprob) for step, token in zip(said.logprobs, ids, strict=True))
    return Sampled(ids, logprobs, said.finish_reason)
