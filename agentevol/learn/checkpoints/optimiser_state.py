"""State of the optimisers as tensors by name, stored in checkpoints.

Adam's first step without moments is as large as the learning rate in every weight, whatever the gradient: a
policy that is updated in many short rounds keeps its moments from one to the next (`learn.keep_moments`).
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from agentevol.core.errors import ConfigError, one_line
from agentevol.learn.distributed.ranks import Ranks
from agentevol.learn.distributed.sharding import on_first, share_of

FILE = "moments.st"
"""File of the moments, beside the weights: safetensors under an extension that no loader of weights looks
for.
"""


def moments(used: Sequence[torch.optim.Optimizer]) -> dict[str, torch.Tensor]:
    """All state of the optimisers, by number of the optimiser, number of the parameter, and name."""
    return {
        f"state/{number}/{index}/{name}": value
        for number, optimiser in enumerate(used)
        for index, values in optimiser.state_dict()["state"].items()
        for name, value in values.items()
    }


def set_moments(
    used: Sequence[torch.optim.Optimizer],
    tensors: Mapping[str, torch.Tensor],
    placed: Callable[[torch.Tensor, torch.Tensor], torch.Tensor],
) -> None:
    """Restore the state from `moments`; other entries are ignored.

    `placed(tensor, parameter)` returns the tensor on the device and, if any, in the sharding of the
    parameter.
    """
    for number, optimiser in enumerate(used):
        parameters = [p for group in optimiser.param_groups for p in group["params"]]
        state: dict[int, dict[str, torch.Tensor]] = {}
        for key, tensor in tensors.items():
            if key.startswith(prefix := f"state/{number}/"):
                index, name = key.removeprefix(prefix).split("/")
                # moments have the sharding of their weight; the count of steps has no shape
                lies = placed(tensor, parameters[int(index)]) if tensor.ndim else tensor
                state.setdefault(int(index), {})[name] = lies
        restored = optimiser.state_dict()
        restored["state"] = state
        optimiser.load_state_dict(restored)


def to_bytes(used: Sequence[torch.optim.Optimizer], ranks: Ranks) -> bytes:
    """Content of `moments.st`, on rank 0; every rank has to call this."""
    kept = on_first(moments(used).items(), ranks)
    return save({name: tensor.contiguous() for name, tensor in kept.items()})


def take_up(used: Sequence[torch.optim.Optimizer], folder: Path) -> bool:
    """Load the moments of the checkpoint in `folder`; False where it has none.

    Raises `ConfigError` for a file that is corrupt or of another model or optimiser.
    """
    file = folder / FILE
    if not file.is_file():
        return False
    try:
        tensors = load(file.read_bytes())
        set_moments(used, tensors, share_of)
    except (SafetensorError, ValueError, KeyError, IndexError) as cause:
        raise ConfigError(f"{file} cannot be restored: {one_line(cause)}") from cause
    if not all(_fits(parameter, state) for each in used for parameter, state in each.state.items()):
        raise ConfigError(f"{file} belongs to another model: its shapes are not those of the weights")
    return True


def _fits(parameter: torch.Tensor, state: Mapping[str, torch.Tensor]) -> bool:
    return all(value.shape == parameter.shape for value in state.values() if value.ndim)
