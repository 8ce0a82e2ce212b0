"""A checkpoint folder becomes `Weights`: model, renderer and version in one value that is swapped whole.

Everything that can be wrong with a folder is a `ConfigError` of one line that names it. Only safetensors
are read (nothing is unpickled), and nothing is fetched.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, PreTrainedModel
from transformers.utils import logging as transformers_logging

from agentevol.engines.slots import ATTENTION
from agentevol.errors import ConfigError
from agentevol.protocols import Checkpoint
from agentevol.rendering import ChatRenderer, load_tokenizer

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

_UNREADABLE = (
    OSError, ValueError, KeyError, TypeError, AttributeError, ImportError, RuntimeError, SafetensorError,
)  # fmt: skip


@dataclass(frozen=True)
class Weights:
    """One frozen set of weights and how to speak to it."""

    model: PreTrainedModel
    renderer: ChatRenderer
    stop_ids: frozenset[int]
    version: int
    name: str

    @property
    def window(self) -> int | None:
        """The most tokens that the model was made for, where its configuration says."""
        return getattr(self.model.config, "max_position_embeddings", None)


def load_weights(checkpoint: Checkpoint, device: str, dtype: str) -> Weights:
    """Read a folder. Raises `ConfigError` for one that is missing, incomplete, corrupt or not a causal LM."""
    path = checkpoint.path
    if dtype not in DTYPES:
        raise ConfigError(f"no dtype named {dtype!r}; there are: {', '.join(DTYPES)}")
    _check_device(device)
    if not (path / "config.json").is_file():
        raise ConfigError(f"{path} is not a checkpoint: it has no config.json")
    try:
        model, missing = _load_model(path, device, DTYPES[dtype])
    except _UNREADABLE as cause:
        raise ConfigError(f"the checkpoint {path} cannot be read: {one_line(cause)}") from cause
    if missing:
        raise ConfigError(f"the checkpoint {path} lacks weights: {', '.join(missing[:3])}")
    renderer = ChatRenderer(load_tokenizer(path))
    stop_ids = renderer.stop_ids | _generation_stop_ids(path)
    return Weights(model, renderer, stop_ids, checkpoint.version, path.name)


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


def _load_model(path: Path, device: str, dtype: torch.dtype) -> tuple[PreTrainedModel, list[str]]:
    """The model and the names of parameters that the folder lacks or holds in another shape."""
    bars = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        loaded = AutoModelForCausalLM.from_pretrained(
            path,
            dtype=dtype,
            attn_implementation=ATTENTION,
            local_files_only=True,
            use_safetensors=True,
            output_loading_info=True,
        )
    finally:
        if bars:
            transformers_logging.enable_progress_bar()
    model, loading = cast(tuple[PreTrainedModel, dict[str, Any]], loaded)  # a pair, as asked for
    missing = [str(name) for name in loading["missing_keys"]]
    missing += [str(entry) for entry in loading.get("mismatched_keys", ())]
    torch.nn.Module.to(model, device)  # the method of transformers' class is wrapped in an untyped decorator
    return model.eval(), sorted(missing)


def _generation_stop_ids(path: Path) -> frozenset[int]:
    """Further end tokens that generation_config.json names."""
    file = path / "generation_config.json"
    if not file.is_file():
        return frozenset()
    try:
        eos = json.loads(file.read_text(encoding="utf-8")).get("eos_token_id")
    except (ValueError, AttributeError) as cause:
        raise ConfigError(f"{file} cannot be read: {one_line(cause)}") from cause
    return frozenset(eos if isinstance(eos, list) else [eos] if isinstance(eos, int) else [])


def one_line(cause: BaseException) -> str:
    """Type and first line of an error, at most 200 characters."""
    lines = str(cause).strip().splitlines() or [""]
    return f"{type(cause).__name__}: {lines[0]}"[:200]
