"""Sharded network: every rank holds its part of each weight, gradient and optimiser state (FSDP2,
arXiv:2304.11277), and a whole layer only during its computation.
"""

from collections.abc import Iterable
from operator import itemgetter
from typing import cast

import torch
from torch import distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor
from transformers.modeling_layers import GradientCheckpointingLayer

from agentevol.learn.distributed.ranks import Ranks
from agentevol.learn.network.network import Reader


def shard(reader: Reader, device: torch.device, *, narrow: bool) -> None:
    """Replace the weights of `reader`, equal on all ranks, by this rank's shards on `device`, in place.

    Every decoder layer is gathered separately; embeddings, norm, output head and heads together. Gradients
    are sums over the ranks. `narrow` gathers layers in bf16; their shards and gradients keep their precision.
    """
    mesh = init_device_mesh(device.type, (distributed.get_world_size(),))
    layers = [module for module in reader.modules() if isinstance(module, GradientCheckpointingLayer)]
    for layer in reversed(layers):  # inner ones first, where they are nested
        fully_shard(layer, mesh=mesh, mp_policy=_precision(narrow))
        # An expert without tokens on this rank has no gradient here, but may have one on another rank.
        cast(FSDPModule, layer).set_reduce_scatter_unused_params(True, recurse=False)  # torch 2.13
    fully_shard(reader, mesh=mesh, mp_policy=_precision(narrow=False))
    for module in (reader, *layers):
        _sum_gradients(cast(FSDPModule, module))


def _precision(narrow: bool) -> MixedPrecisionPolicy:
    """Precision of sharded layers: gradients are summed in float32, and a layer's input, the residual stream,
    keeps its precision.
    """
    return MixedPrecisionPolicy(torch.bfloat16 if narrow else None, torch.float32, cast_forward_inputs=False)


def _sum_gradients(module: FSDPModule) -> None:
    """Sum gradients over ranks: losses have the denominators of the whole optimiser batch, so a mean would
    divide again.
    """
    module.set_gradient_divide_factor(1.0)
    module.set_force_sum_reduction_for_comms(True)


def on_first(tensors: Iterable[tuple[str, torch.Tensor]], ranks: Ranks) -> dict[str, torch.Tensor]:
    """Gather tensors by name on the CPU of rank 0; empty elsewhere, but every rank has to call this."""
    found: dict[str, torch.Tensor] = {}
    # sorted, since all ranks need the same order, and that of a file is arbitrary
    for name, tensor in sorted(tensors, key=itemgetter(0)):
        entire = whole(tensor.detach())  # one at a time: a device may be too small for all of them
        if ranks.rank == 0:
            found[name] = entire.cpu()
    return found


def whole(tensor: torch.Tensor) -> torch.Tensor:
    """Gather a tensor that may be sharded; every rank has to call this for sharded ones."""
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def own_part(tensor: torch.Tensor) -> torch.Tensor:
    """This rank's part of a tensor that may be sharded; it shares memory with it."""
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor


def share_of(tensor: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """This rank's part of a whole tensor, in the sharding of `parameter`, if any."""
    if not isinstance(parameter, DTensor):
        return tensor
    moved = tensor.to(parameter.device)
    return distribute_tensor(moved, parameter.device_mesh, parameter.placements, src_data_rank=None)


def part_like(own: torch.Tensor, parameter: torch.Tensor) -> torch.Tensor:
    """Wrap this rank's part of a tensor in the sharding of `parameter`, if any."""
    if not isinstance(parameter, DTensor):
        return own
    return DTensor.from_local(
        own,
        parameter.device_mesh,
        parameter.placements,
        run_check=False,
        shape=parameter.shape,
        stride=parameter.stride(),
    )
