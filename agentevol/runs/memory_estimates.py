"""Memory estimates of a run's processes from a model's configuration, without reading weights.

Qwen2.5-1.5B, fully trained in bf16 by one learner, 16384 tokens at a time, with gradient checkpointing:

    weights 5.8, gradients 5.8, optimiser 11.5, activations 4.5, copies in bf16 2.9, logits 0.2 GiB

Estimates count tensors. Allocators, kernels' workspaces and libraries come on top: a GiB or two on a GPU.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from agentevol.config.sections.learner import LearnConfig
from agentevol.core.errors import ConfigError, one_line
from agentevol.learn.network.log_probabilities import CHUNK_LOGITS
from agentevol.models.causal_lm import BUILDING
from agentevol.models.limits import ADAPTERS_AT_ONCE, adapter_rank
from agentevol.models.lora import adapted
from agentevol.models.lora_config import LoraConfig

Parts = dict[str, int]
"""Bytes by purpose."""

FULL, HALF = 4, 2
"""Bytes per number in full and in half precision."""

Dtype = Literal["float32", "bfloat16", "float16"]
"""Precision of an engine."""

_NO_MODEL = (AttributeError, KeyError, OSError, RuntimeError, StrictDataclassError, TypeError, ValueError)
"""Errors of transformers for a configuration that defines no model."""


@dataclass(frozen=True)
class ModelShape:
    """Sizes of a model that the estimates need. Parameters that share one tensor count once."""

    parameters: int
    ends: int
    """Of these, parameters of input embeddings and output head."""
    matrices: int
    """Of these, parameters of the matrices between them."""
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    window: int | None
    """Maximum number of positions of the model."""
    adapters: int = 0
    """Parameters of the configured adapters; 0 where all weights are trained."""

    @property
    def layer(self) -> int:
        """Parameters per layer."""
        return (self.parameters - self.ends) // self.layers


def shape_of(folder: Path, lora: LoraConfig | None = None) -> ModelShape:
    """Shape of the model whose config.json is in `folder`, counted on torch's meta device, which holds no
    numbers.

    Raises `ConfigError` for a configuration that defines no causal language model in transformers.
    """
    try:
        config: Any = AutoConfig.from_pretrained(folder, local_files_only=True)
        with BUILDING, torch.device("meta"):
            model = AutoModelForCausalLM.from_config(config)
    except _NO_MODEL as cause:
        raise ConfigError(f"cannot build a model from {folder / 'config.json'}: {one_line(cause)}") from cause
    text: Any = config.get_text_config()
    counted = _counted(model)
    heads = int(text.num_attention_heads)
    return ModelShape(
        **counted,
        layers=int(text.num_hidden_layers),
        hidden=int(text.hidden_size),
        heads=heads,
        kv_heads=int(getattr(text, "num_key_value_heads", None) or heads),
        head_dim=int(getattr(text, "head_dim", None) or text.hidden_size // heads),
        intermediate=int(getattr(text, "intermediate_size", None) or 4 * text.hidden_size),
        vocabulary=int(text.vocab_size),
        window=getattr(text, "max_position_embeddings", None),
        adapters=0 if lora is None else _adapters(model, lora),
    )


def _counted(model: PreTrainedModel) -> dict[str, int]:
    ends = {id(end.weight): end.weight for end in _ends(model)}
    own = list(model.parameters())  # each once, also where two modules share it
    inner = [weight for weight in own if weight.ndim == 2 and id(weight) not in ends]
    return {
        "parameters": sum(weight.numel() for weight in own),
        "ends": sum(weight.numel() for weight in ends.values()),
        "matrices": sum(weight.numel() for weight in inner),
    }


def _ends(model: PreTrainedModel) -> Iterator[Any]:
    for end in (model.get_input_embeddings(), model.get_output_embeddings()):
        if end is not None:
            yield end


def _adapters(model: PreTrainedModel, lora: LoraConfig) -> int:
    adapted(model, lora)
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def training_state(shape: ModelShape, config: LearnConfig) -> Parts:
    """Weights, gradients and optimiser state of one of `config.shards` learners.

    Each is sharded over the learners, as in stage 3 of ZeRO (arXiv:1910.02054, section 5.3). Trained weights
    are float32, with a gradient and Adam's two moments in float32: 16 bytes a weight. (Mixed precision of
    that paper, section 3.1, keeps 16-bit weights and gradients beside a float32 master: 16 bytes as well.)
    Muon keeps one moment of inner matrices. Weights under adapters are in the precision of `config.dtype`.
    """
    trained = shape.adapters or shape.parameters
    frozen = 0 if not shape.adapters else shape.parameters * (HALF if config.dtype == "bf16" else FULL)
    moments = 2 * trained - (shape.matrices if config.optimiser == "muon" else 0)
    parts = {
        "weights": frozen + FULL * trained,
        "gradients": FULL * trained,
        "optimiser": FULL * moments,
    }
    if config.ewc is not None:
        parts["ewc"] = 2 * FULL * trained  # the anchor's weights, and the importance of each
    if config.distillation and config.distillation_form == "full":
        parts["teacher"] = FULL * shape.parameters
    return {name: -(-size // config.shards) for name, size in parts.items()}


def working_memory(shape: ModelShape, config: LearnConfig) -> Parts:
    """Further memory of a learner during a forward and a backward pass over `config.micro_batch_tokens`
    tokens.

    Activations are counted as in arXiv:2205.05198, section 4.1: the tensors that every operation keeps for
    its gradient, here for layers with gated MLPs, grouped keys and values, and attention whose scores are
    never stored. With checkpointing (section 5 there) each layer keeps its input only, and one layer at a
    time has all.
    """
    tokens, half = config.micro_batch_tokens, config.dtype == "bf16"
    stream = HALF if half and shape.adapters else FULL  # autocast adds to the residual stream in float32
    whole = tokens * layer_bytes(shape, HALF if half else FULL, stream)
    states = tokens * shape.hidden * stream
    layers = shape.layers * states + whole if config.gradient_checkpointing else shape.layers * whole
    parts = {"activations": layers + 2 * states}  # input and output of the last norm
    if half and not shape.adapters and config.shards == 1:
        parts["copies in bf16"] = HALF * (shape.matrices + shape.hidden * shape.vocabulary)
    if config.shards > 1:  # this layer and the next are gathered, and the ends
        parts["gathered weights"] = 2 * (HALF if half else FULL) * shape.layer + FULL * shape.ends
    logits = min(CHUNK_LOGITS, tokens * shape.vocabulary)
    parts["logits"] = 3 * FULL * logits  # the logits, the same over the temperature, and their gradient
    return parts


def layer_bytes(shape: ModelShape, product: int, stream: int) -> int:
    """Bytes that a layer keeps for the gradient of one token.

    `product` and `stream` are bytes per number in matrix products and in the residual stream. Counted are
    input and output of two norms; the input of projections; queries, keys, values and output of the
    attention; gate, its activation, up, and their product in the MLP.
    """
    queries, keys = shape.heads * shape.head_dim, shape.kv_heads * shape.head_dim
    products = 2 * shape.hidden + 3 * queries + 2 * keys + 4 * shape.intermediate
    return stream * 4 * shape.hidden + product * products


def on_each_of(devices: int, shape: ModelShape) -> ModelShape:
    """Shape of a device's part of a model whose layers are split over `devices` (arXiv:1909.08053).

    Norms, which are not split, are ignored.
    """
    return replace(
        shape,
        parameters=-(-shape.parameters // devices),
        kv_heads=max(1, shape.kv_heads // devices),  # further devices have copies
    )


def cache_bytes(shape: ModelShape, dtype: Dtype, context: int) -> int:
    """Bytes of keys and values of a conversation of `context` tokens: 2 * layers * kv heads * head size per
    token.
    """
    return 2 * shape.layers * shape.kv_heads * shape.head_dim * number_bytes(dtype) * context


def adapter_bytes(shape: ModelShape, dtype: Dtype, rank: int) -> int:
    """Bytes that vLLM reserves for adapters of `rank`: room for all that it samples with at a time, each of
    the rank that it is started for. Devices that share the weights each have one of an adapter's two matrices
    whole and split the other: both are counted whole.
    """
    return ADAPTERS_AT_ONCE * shape.adapters // rank * adapter_rank(rank) * number_bytes(dtype)


def number_bytes(dtype: Dtype) -> int:
    """Bytes per number of an engine's precision."""
    return FULL if dtype == "float32" else HALF
