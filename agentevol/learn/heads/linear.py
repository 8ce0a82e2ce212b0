"""Linear heads beside the language model's: a value function, or the outputs of a reward model.

They are stored beside the weights in `heads.st`: safetensors under another extension, so that loaders which
read every *.safetensors as a part of the language model ignore it.
"""

import math
from pathlib import Path
from typing import cast

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError, one_line

FILE = "heads.st"


def new_heads(model: PreTrainedModel, outputs: int, *, members: int = 1, seed: int = 0) -> torch.nn.Linear:
    """Return heads in float32 with output 0; those of an ensemble (`members` above 1) are initialised at
    random.

    Their weights come from N(0, 1 / (width + 1)) as in Stiennon et al., 2020 (arXiv:2009.01325), those of
    head number h from `seed` and h alone: they are the same on every rank, whatever was drawn before.
    """
    heads = torch.nn.Linear(_width(model), outputs, dtype=torch.float32)
    torch.nn.init.zeros_(heads.weight)
    torch.nn.init.zeros_(heads.bias)
    if members > 1:
        drawn = [_drawn(heads.in_features, seed, number) for number in range(outputs)]
        heads.weight.data = torch.stack(drawn)
    return heads


def _drawn(width: int, seed: int, number: int) -> torch.Tensor:
    """(width,) initial weights from the seeded generator of one head."""
    bits = np.random.SeedSequence([seed % 2**64, number]).generate_state(1, np.uint64)[0]
    generator = torch.Generator().manual_seed(int(bits >> np.uint64(1)))
    return torch.randn(width, generator=generator) / math.sqrt(width + 1)


def load_heads(folder: Path) -> torch.nn.Linear | None:
    """Load the heads of a checkpoint; None where it has none. Raises `ConfigError` for a corrupt file."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        tensors = load(file.read_bytes())
        outputs, width = tensors["weight"].shape
    except (SafetensorError, KeyError, ValueError) as cause:
        raise ConfigError(f"{file} is corrupt: {one_line(cause)}") from cause
    heads = torch.nn.Linear(width, outputs, dtype=torch.float32)
    heads.load_state_dict(tensors)
    return heads


def heads_for(
    folder: Path, model: PreTrainedModel, outputs: int, *, members: int = 1, seed: int = 0
) -> torch.nn.Linear:
    """Load the heads of the checkpoint, or create new ones where it has none; `ConfigError` for other
    shapes.
    """
    heads = load_heads(folder)
    if heads is None:
        return new_heads(model, outputs, members=members, seed=seed)
    if (heads.in_features, heads.out_features) != (_width(model), outputs):
        raise ConfigError(
            f"the heads in {folder} have {heads.out_features} outputs of width {heads.in_features}, not"
            f" {outputs} of {_width(model)}"
        )
    return heads


def to_bytes(heads: torch.nn.Linear) -> bytes:
    """Content of `heads.st`."""
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in heads.state_dict().items()})


def _width(model: PreTrainedModel) -> int:
    return cast(torch.nn.Embedding, model.get_input_embeddings()).embedding_dim
