"""Adapters that are kept from one update to the next: beside the merged weights, and taken out of them again.

    checkpoint 1   weights W + BA   adapters B, A
    update 2       weights W, of which nothing is trained, and B, A, which go on from there

A checkpoint is a whole model for whoever reads it; without `learn.lora.keep` every update has fresh adapters.
"""

from pathlib import Path
from typing import Any

import torch
from peft.tuners.lora import LoraLayer, LoraModel
from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import PreTrainedModel

from agentevol.causal_lm import one_line
from agentevol.errors import ConfigError
from agentevol.learn.config import LearnConfig, LoraConfig
from agentevol.learn.models import adapted

FILE = "adapters.st"
"""Beside the weights; the safetensors format, under an ending that no loader of weights looks for."""


def adapted_from(model: PreTrainedModel, lora: LoraConfig, folder: Path) -> LoraModel:
    """Add adapters to `model`, which is that of the checkpoint `folder`, in place, and freeze the rest.

    With `lora.keep` they are those of the checkpoint, where it has any, and the weights are what lies under
    them: together they say what the checkpoint says, to rounding. Raises `ConfigError` for others than
    `lora` describes.
    """
    file = folder / FILE
    if not (lora.keep and file.is_file()):
        return adapted(model, lora)
    stored = read(file)
    added = adapted(model, lora)
    own = trained(model)
    if {name: tensor.shape for name, tensor in stored.items()} != {n: p.shape for n, p in own.items()}:
        raise ConfigError(f"{file} has adapters of another rank or other targets than learn.lora: keep these")
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(stored[name])
        for module in model.modules():
            if isinstance(module, LoraLayer):
                _take_out(module)
    return added


def trained(model: PreTrainedModel) -> dict[str, torch.nn.Parameter]:
    """The parameters that learn, by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def to_bytes(model: PreTrainedModel) -> bytes:
    """What `adapters.st` holds, of a model whose adapters alone are trained."""
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in trained(model).items()})


def read(file: Path) -> dict[str, torch.Tensor]:
    """What `to_bytes` wrote, by name. Raises `ConfigError` for a file that cannot be read."""
    try:
        return load(file.read_bytes())
    except (OSError, SafetensorError) as cause:
        raise ConfigError(f"{file} is corrupt: {one_line(cause)}") from cause


def check_kept(learn: LearnConfig, base: Path) -> None:
    """Raise `ConfigError` where fresh adapters would be held to what they have never been."""
    if learn.ewc is None or learn.lora is None or (base / FILE).is_file():
        return
    raise ConfigError(
        f"learn.ewc holds adapters where they were, and {base} has none: fresh ones have no Fisher"
        " information; begin with a checkpoint of learn.lora.keep = true, or take learn.distillation on"
        " replayed rows (select.merge = 'replay')"
    )


def _take_out(layer: Any) -> None:
    """What lies under an adapter that had been merged; in float32, whatever its precision."""
    weight = layer.get_base_layer().weight
    delta = layer.get_delta_weight("default")
    weight.copy_((weight.float() - delta.float()).to(weight.dtype))
