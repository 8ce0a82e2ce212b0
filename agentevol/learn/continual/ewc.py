"""Elastic weight consolidation: a penalty on changes of weights that matter for earlier tasks (Kirkpatrick et
al., 2016, arXiv:1612.00796, eq. 3).

information = fisher(mean_logp, sequences, dict(model.named_parameters()))
strength = 0.1 * normalisation(information)
loss = loss + penalty(dict(model.named_parameters()), weights, information, strength=strength)

With adapters only their weights are protected, relative to their values after the last stage; a fresh
adapter, whose output is zero, has no useful Fisher information: prefer distillation on replayed episodes
there.

Where weights are sharded, all functions take and return this rank's parts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from agentevol.core.errors import ConfigError
from agentevol.learn.distributed.sharding import own_part
from agentgym_store.files import whole_file

SequenceT = TypeVar("SequenceT")
Tensors = Mapping[str, Tensor]
Kind = Literal["sampled", "labels"]

FILE = "ewc.st"
"""File of online EWC in a checkpoint: the information that the update was trained with. Safetensors under an
extension that no loader of weights looks for.
"""


@dataclass(frozen=True)
class Consolidation:
    """Weights at the end of a stage, and the importance of each."""

    weights: Tensors
    fisher: Tensors
    """Fisher information as measured: normalise it before use, not before storing, or stages could not be
    added.
    """
    kind: Kind = "sampled"
    """`sampled`: of the policy's own actions (the Fisher information); else of those in the data."""


def fisher(
    mean_logp: Callable[[SequenceT], Tensor],
    sequences: Iterable[SequenceT],
    parameters: Tensors,
    *,
    sample: Callable[[SequenceT], SequenceT] | None = None,
) -> dict[str, Tensor]:
    """Mean over the sequences of the squared gradient of each one's mean log-probability of a learnt token.

    By name, of the whole parameter or of this rank's shard; existing gradients of the parameters are lost.

    Squares of single sequences' gradients: the square of a batch's gradient is another quantity, near zero at
    an optimum. `sample` replaces the actions of a sequence by the policy's own, which the definition
    requires; without it the data's own are used (`labels`). 200 to 1000 sequences are enough.
    """
    squares = {
        name: torch.zeros_like(own_part(leaf.detach()), dtype=_accumulator(leaf))
        for name, leaf in parameters.items()
    }
    _take_gradients(parameters)
    count = 0
    for sequence in sequences:
        mean_logp(sequence if sample is None else sample(sequence)).backward()
        for name, gradient in _take_gradients(parameters).items():
            squares[name] += gradient.to(squares[name].dtype) ** 2
        count += 1
    if count == 0:
        raise ConfigError("Fisher information needs sequences of the tasks to protect")
    return {name: square / count for name, square in squares.items()}


def _take_gradients(parameters: Tensors) -> dict[str, Tensor]:
    """Return the existing gradients, and clear them."""
    found = {name: own_part(leaf.grad) for name, leaf in parameters.items() if leaf.grad is not None}
    for leaf in parameters.values():
        leaf.grad = None
    return found


def normalisation(
    information: Tensors, gathered: Callable[[tuple[float, int]], Sequence[tuple[float, int]]] | None = None
) -> float:
    """Factor that scales the information to a mean of 1 over all parameters together.

    It makes a penalty's strength comparable between models. `gathered` returns the sums and counts of all
    ranks.
    """
    total = sum(float(tensor.double().sum()) for tensor in information.values())
    count = sum(tensor.numel() for tensor in information.values())
    parts = [(total, count)] if gathered is None else gathered((total, count))
    total, count = sum(part[0] for part in parts), sum(part[1] for part in parts)
    if not total > 0:
        raise ConfigError("the Fisher information is zero everywhere: nothing can be protected")
    return count / total


def penalty(parameters: Tensors, weights: Tensors, importance: Tensors, *, strength: float = 0.1) -> Tensor:
    """strength / 2 * sum of importance * (parameter - weight)^2, to be added once per optimiser step.

    Raises `ConfigError` unless all three have the same names.
    """
    if not parameters.keys() == weights.keys() == importance.keys():
        odd = sorted((parameters.keys() ^ weights.keys()) | (parameters.keys() ^ importance.keys()))
        raise ConfigError(f"parameters to protect do not match what was stored: {', '.join(odd[:5])}")
    terms = [
        (importance[name] * (parameter - weights[name]) ** 2).sum() for name, parameter in parameters.items()
    ]
    return 0.5 * strength * torch.stack(terms).sum()


def online(earlier: Consolidation, new: Consolidation, *, decay: float = 0.9) -> Consolidation:
    """Merge two consolidations: decay * earlier + new information, around the new weights.

    Online EWC (Schwarz et al., 2018, arXiv:1805.06370, section 4).
    """
    if earlier.fisher.keys() != new.fisher.keys() or earlier.kind != new.kind:
        raise ConfigError("stages can only be added up with the same parameters and kind of information")
    summed = {name: decay * earlier.fisher[name] + tensor for name, tensor in new.fisher.items()}
    return Consolidation(new.weights, summed, new.kind)


def to_bytes(consolidation: Consolidation) -> bytes:
    """Serialise as safetensors: `weights.NAME` and `fisher.NAME`."""
    parts = {"weights": consolidation.weights, "fisher": consolidation.fisher}
    tensors = {
        f"{part}.{name}": tensor.detach().cpu().contiguous()
        for part, named in parts.items()
        for name, tensor in named.items()
    }
    return serialised(tensors, {"kind": consolidation.kind})


def save(consolidation: Consolidation, file: Path) -> None:
    """Write the consolidation to `file`, atomically."""
    with whole_file(file) as stream:
        stream.write(to_bytes(consolidation))


def load(file: Path) -> Consolidation:
    """Load the file of `save` onto the CPU; raises `ConfigError` for anything else."""
    parts: dict[str, dict[str, Tensor]] = {"weights": {}, "fisher": {}}
    try:
        with safe_open(file, framework="pt") as content:
            kind = (content.metadata() or {})["kind"]
            for key in content.keys():  # noqa: SIM118 - not a mapping
                part, _, name = key.partition(".")
                parts[part][name] = content.get_tensor(key)
    except (OSError, SafetensorError, KeyError) as cause:
        raise ConfigError(f"{file} holds no consolidated weights: {cause!r}") from cause
    return Consolidation(parts["weights"], parts["fisher"], "labels" if kind == "labels" else "sampled")


def _accumulator(tensor: Tensor) -> torch.dtype:
    """Type of accumulated squares of gradients, which underflow in half precision."""
    return torch.promote_types(tensor.dtype, torch.float32)
