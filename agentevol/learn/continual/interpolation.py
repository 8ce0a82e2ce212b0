"""Interpolation of the weights of two checkpoints, against forgetting."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor
from transformers import PreTrainedModel

from agentevol.core.errors import ConfigError
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.models.causal_lm import load_model
from agentevol.models.checkpoints import LINEAGE, read_lineage, save


def interpolated(
    previous: Mapping[str, Tensor], new: Mapping[str, Tensor], new_share: float
) -> dict[str, Tensor]:
    """(1 - new_share) * previous + new_share * new, tensor by tensor, in the new one's precision.

    Choose `new_share` on validation tasks. Integer tensors are the new ones.
    """
    if previous.keys() != new.keys():
        odd = sorted(previous.keys() ^ new.keys())
        raise ConfigError(f"checkpoints of different models cannot be mixed: {', '.join(odd[:5])}")
    if not 0 <= new_share <= 1:
        raise ConfigError(f"a share lies in [0, 1], unlike {new_share}")
    return {name: _between(previous[name], tensor, new_share) for name, tensor in new.items()}


def toward(model: PreTrainedModel, previous: Path, new_share: float) -> dict[str, float]:
    """Mix the weights of `model`, in place, with those of the checkpoint `previous`.

    Returns their distance (Euclidean norm over all weights) before, and the part kept, `new_share` of it.
    """
    before = dict(load_model(previous, PACKED_ATTENTION).named_parameters())
    learnt = dict(model.named_parameters())
    with torch.no_grad():
        mixed = interpolated(before, learnt, new_share)
        squares = [(learnt[name].float() - before[name].float()).square().sum().item() for name in learnt]
        for name, parameter in learnt.items():
            parameter.copy_(mixed[name])
    moved = sum(squares) ** 0.5
    return {"interpolation_moved": moved, "interpolation_kept": new_share * moved}


def write_between(previous: Path, learnt: Path, new_share: float, out: Path, dtype: torch.dtype) -> None:
    """Write the new checkpoint `out`: `learnt`, with weights mixed with those of `previous`."""
    model = load_model(learnt, PACKED_ATTENTION)
    figures = toward(model, previous, new_share)
    torch.nn.Module.to(model, dtype=dtype)
    lineage = read_lineage(learnt)
    if lineage is None:
        raise ConfigError(f"{learnt} does not say where it comes from: {LINEAGE} is missing")
    files = {file.name: file.read_bytes() for file in learnt.iterdir() if file.suffix in (".st", ".jsonl")}
    save(model, learnt, out, lineage.model_copy(update={"metrics": {**lineage.metrics, **figures}}), files)


def _between(previous: Tensor, new: Tensor, share: float) -> Tensor:
    if not new.is_floating_point():
        return new.clone()
    exact = torch.promote_types(new.dtype, torch.float32)  # in bf16 the sum would round small changes away
    return ((1 - share) * previous.to(exact) + share * new.to(exact)).to(new.dtype)
