"""What a loss reads and gives: `Batch` and `Loss`.

Torch is not imported here: the configuration knows the algorithms and has to load fast.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch


@dataclass(frozen=True)
class Totals:
    """Denominators over a whole optimiser batch: its gradient is the sum of its micro-batches' gradients."""

    tokens: int
    """Sum of the mask."""
    weight: float
    """Sum of weight times mask."""


@dataclass(frozen=True)
class Batch:
    """Tokens of a micro-batch; tensors of one shape, (T,) packed or (B, T). Only masked entries count."""

    logp: "torch.Tensor"
    """Log-probability of each token under the weights being learnt, with gradient."""
    mask: "torch.Tensor"
    """bool."""
    weight: "torch.Tensor"
    """At least 0; without gradient."""
    totals: Totals


@dataclass(frozen=True)
class Loss:
    """A micro-batch's part of its optimiser batch's loss. Values and metrics add up over micro-batches."""

    value: "torch.Tensor"
    """Scalar."""
    metrics: dict[str, float] = field(default_factory=dict[str, float])


class Algorithm(Protocol):
    """A loss whose options are bound."""

    def __call__(self, batch: Batch) -> Loss:
        """The loss of a micro-batch."""
        ...


def totals(mask: "torch.Tensor", weight: "torch.Tensor") -> Totals:
    """The denominators of tensors that hold a whole optimiser batch."""
    return Totals(int(mask.sum()), float((weight * mask).double().sum()))
