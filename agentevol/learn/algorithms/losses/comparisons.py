"""Comparison units of a loss: the pairs and groups of a batch, as indices of its sequences.

    unit  [0, 0, 1, 1]    side  [1, -1, -1, 1]

are two pairs: sequence 0 is better than 1, and 3 is better than 2.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch

from agentevol.core.algorithms.contract import Batch

if TYPE_CHECKING:
    from torch import Tensor


def pairs(batch: Batch) -> tuple["Tensor", "Tensor"]:
    """(U,) the chosen and (U,) the rejected sequence of each pair, in the order of their units.

    Raises `ValueError` where a unit is not one chosen and one rejected sequence (apart from side 0).
    """
    order_J = _by_unit(batch)
    chosen_U, rejected_U = (order_J[batch.side[order_J] == side] for side in (1, -1))
    units_U = batch.unit[chosen_U]
    if (
        not torch.equal(units_U, batch.unit.unique())
        or not torch.equal(units_U, batch.unit[rejected_U])
        or not bool((units_U.diff() > 0).all())
    ):
        raise ValueError("a pair is one chosen and one rejected sequence; a unit of the batch is not")
    return chosen_U, rejected_U


def contexts(batch: Batch, chosen_U: "Tensor") -> "Tensor":
    """(U,) sequence of side 0 of each pair; raises `ValueError` for a pair without one."""
    order_J = _by_unit(batch)
    context_U = order_J[batch.side[order_J] == 0]
    if not torch.equal(batch.unit[context_U], batch.unit[chosen_U]):
        raise ValueError(
            "a pair has one sequence of side 0 with everything in its chosen sequence; one has not"
        )
    return context_U


def _by_unit(batch: Batch) -> "Tensor":
    return batch.unit.argsort(stable=True)


def groups(batch: Batch) -> list["Tensor"]:
    """(G,) sequences of each group.

    Raises `ValueError` where the batch has only a part of a group: a comparison with a part would be biased.
    """
    found = [(batch.unit == unit).nonzero().squeeze(1) for unit in batch.unit.unique()]
    for members_G in found:
        missing = batch.group_tokens[members_G] - batch.lengths[members_G].sum()
        if bool((missing.abs() > 0.5).any()):  # whole numbers, in the batch's float type
            raise ValueError("a group is compared as a whole; the batch has a part of one")
    return found


def mean_logp(batch: Batch) -> "Tensor":
    """(J,) mean log-probability of each sequence's learnt tokens."""
    return batch.sums(batch.logp) / batch.lengths


def averages(count: int, values: Mapping[str, "Tensor"]) -> dict[str, float]:
    """Sums of the values divided by `count`, as metrics that add up over micro-batches."""
    sums = torch.stack([value.detach().double().sum() for value in values.values()]).tolist()
    return {name: number / max(count, 1) for name, number in zip(values, sums, strict=True)}


def pair_metrics(batch: Batch, reward_J: "Tensor") -> dict[str, float]:
    """Metrics of the difference between the sides. `reward_J` is the implicit reward of each sequence.

    A falling `logp_chosen` beside a growing `reward_margin` shows that the chosen side loses likelihood too.
    """
    chosen_U, rejected_U = pairs(batch)
    logp_J = batch.sums(batch.logp)
    return averages(
        batch.totals.units,
        {
            "accuracy": reward_J[chosen_U] > reward_J[rejected_U],
            "reward_chosen": reward_J[chosen_U],
            "reward_rejected": reward_J[rejected_U],
            "reward_margin": reward_J[chosen_U] - reward_J[rejected_U],
            "logp_chosen": logp_J[chosen_U],
            "logp_rejected": logp_J[rejected_U],
            "length_difference": batch.lengths[chosen_U] - batch.lengths[rejected_U],
        },
    )
