"""Loading of a checkpoint folder into `Weights`: model, renderer and version in one value that is swapped
whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError
from agentevol.core.protocols import Checkpoint
from agentevol.engines.embedded.slot_cache import ATTENTION
from agentevol.models.causal_lm import DTYPES, load_model
from agentevol.models.rendering import ChatRenderer, renderer_of


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


def _check_device(device: str) -> None:
    try:
        kind = torch.device(device).type
    except RuntimeError as cause:
        raise ConfigError(f"no device named {device!r}; use 'cpu' or 'cuda'") from cause
    if kind not in {"cpu", "cuda"} or (kind == "cuda" and not torch.cuda.is_available()):
        raise ConfigError(f"the device {device!r} is not available here; use 'cpu'")
