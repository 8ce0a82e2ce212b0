"""Loading of a checkpoint folder into `Weights`: model, renderer and version in one value that is swapped
whole.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel

from agentevol.causal_lm import load_model
from agentevol.engines.slots import ATTENTION
from agentevol.errors import ConfigError, one_line
from agentevol.protocols import Checkpoint
from agentevol.rendering import ChatRenderer, load_tokenizer

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Weights:
    """One frozen set of weights with its chat renderer."""

    model: PreTrainedModel
    renderer: ChatRenderer
    version: int
    name: str

    @property
    def stop_ids(self) -> frozenset[int]:
        """Token ids that end a sample."""
        return self.renderer.stop_ids

    @property
    def window(self) -> int | None:
        """The model's maximum sequence length in tokens, where its configuration states one."""
        return getattr(self.model.config, "max_position_embeddings", None)


def load_weights(
    checkpoint: Checkpoint, device: str, dtype: str, chat_template_kwargs: Mapping[str, Any] | None = None
) -> Weights:
    """Load a checkpoint folder. Raises `ConfigError` for one that is missing, incomplete, corrupt or not a
    causal LM.
    """
    path = checkpoint.path
    if dtype not in DTYPES:
        raise ConfigError(f"no dtype named {dtype!r}; there are: {', '.join(DTYPES)}")
    _check_device(device)
    model = load_model(path, ATTENTION, DTYPES[dtype])
    torch.nn.Module.to(model, device)  # the method of transformers' class is wrapped in an untyped decorator
    return Weights(model, renderer_of(path, chat_template_kwargs), checkpoint.version, path.name)


def renderer_of(path: Path, chat_template_kwargs: Mapping[str, Any] | None = None) -> ChatRenderer:
    """Chat renderer of a checkpoint, with all token ids that end a sample."""
    return ChatRenderer(load_tokenizer(path), chat_template_kwargs, _generation_stop_ids(path))


def shapes(model: PreTrainedModel) -> dict[str, tuple[int, ...]]:
    """Name and shape of every parameter: equal for two checkpoints of one architecture."""
    return {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}


def _check_device(device: str) -> None:
    try:
        kind = torch.device(device).type
    except RuntimeError as cause:
        raise ConfigError(f"no device named {device!r}; use 'cpu' or 'cuda'") from cause
    if kind not in {"cpu", "cuda"} or (kind == "cuda" and not torch.cuda.is_available()):
        raise ConfigError(f"the device {device!r} is not available here; use 'cpu'")


def _generation_stop_ids(path: Path) -> frozenset[int]:
    """Further end tokens named in generation_config.json."""
    file = path / "generation_config.json"
    if not file.is_file():
        return frozenset()
    try:
        eos = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id")
    except (ValueError, AttributeError) as cause:
        raise ConfigError(f"{file} cannot be read: {one_line(cause)}") from cause
    return frozenset(eos if isinstance(eos, list) else [eos] if isinstance(eos, int) else [])
