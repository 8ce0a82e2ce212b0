"""LoRA adapters kept from one update to the next: stored beside the merged weights, and separated from them
again.

    checkpoint 1   weights W + BA   adapters B, A
    update 2       weights W, of which nothing is trained, and B, A, which go on from there

Every checkpoint is a complete model for any reader; without `learn.lora.keep` each update has fresh adapters.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError, one_line
from agentevol.models.lora_config import LoraConfig

if TYPE_CHECKING:
    from peft.tuners.lora import LoraModel

if TYPE_CHECKING:
    from peft.tuners.lora import LoraModel

FILE = "adapters.st"
"""File of the adapters, beside the weights: safetensors under an extension that no loader of weights looks
for.
"""


def adapted_from(model: PreTrainedModel, lora: LoraConfig, folder: Path) -> "LoraModel":
    """Add adapters to `model`, the model of the checkpoint `folder`, in place, and freeze all other weights.

    With `lora.keep` they are the adapters stored in the checkpoint, if it has any, and their product is
    subtracted from the merged weights: together they equal the checkpoint, up to rounding. Raises
    `ConfigError` for stored adapters of another rank or other targets than those of `lora`.
    """
    file = folder / FILE
    if not (lora.keep and file.is_file()):
        return adapted(model, lora)
    from peft.tuners.lora import LoraLayer

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
    """Trainable parameters by name."""
    return {name: parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def to_bytes(model: PreTrainedModel) -> bytes:
    """Content of `adapters.st` for a model of which only the adapters are trained."""
    return save({name: tensor.detach().cpu().contiguous() for name, tensor in trained(model).items()})


def read(file: Path) -> dict[str, torch.Tensor]:
    """Read the tensors that `to_bytes` stored, by name. Raises `ConfigError` for a file that cannot be
    read.
    """
    try:
        return load(file.read_bytes())
    except (OSError, SafetensorError) as cause:
        raise ConfigError(f"{file} is corrupt: {one_line(cause)}") from cause


def _take_out(layer: Any) -> None:
    """Subtract a merged adapter from its base weight, in place; computed in float32, whatever the
    precision.
    """
    weight = layer.get_base_layer().weight
    delta = layer.get_delta_weight("default")
    weight.copy_((weight.float() - delta.float()).to(weight.dtype))


def adapted(model: PreTrainedModel, lora: LoraConfig) -> "LoraModel":
    """Add adapters to `model`, in place, and freeze the rest; `ConfigError` where no module matches.

    Adapters are float32 whatever the precision of the model: a step is below the resolution of bf16.
    """
    from peft import LoraConfig as PeftLoraConfig  # slow to import, and needed with adapters only
    from peft.tuners.lora import LoraModel

    targets = lora.targets if isinstance(lora.targets, str) else list(lora.targets)
    adapters = PeftLoraConfig(
        r=lora.rank, lora_alpha=lora.alpha, target_modules=targets, task_type="CAUSAL_LM"
    )
    try:
        added = LoraModel(model, adapters, "default")
    except ValueError as cause:
        raise ConfigError(f"lora.targets {targets} do not fit {type(model).__name__}: {cause}") from cause
    for parameter in model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    return added
