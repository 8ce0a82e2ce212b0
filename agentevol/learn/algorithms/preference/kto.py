"""Kahneman-Tversky optimisation: unpaired episodes, each labelled desirable or undesirable."""

from typing import TYPE_CHECKING, Literal

import torch

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.algorithms.options import NotNegative, Positive

if TYPE_CHECKING:
    from torch import Tensor


def kto(
    batch: Batch,
    *,
    beta: Positive = 0.1,
    desirable_weight: NotNegative = 1.0,
    undesirable_weight: NotNegative = 1.0,
    kto_reference: Literal["batch", "zero", "mismatched"] = "batch",
) -> Loss:
    """Mean over sequences of weight * w * (1 - sigmoid(+-beta (x - z))), the loss of Ethayarajh et al., 2024
    (arXiv:2402.01306); + for desirable ones, x the sum of logp - ref_logp.

    The paper estimates the reference point z from completions paired with other prompts: `mismatched` takes
    the mean of x over sequences of side 0, which are such
    (`agentevol.data.auxiliary_sequences.mismatched`), at least 0. With the prompt of another task, the
    observations of a multi-turn episode make no sense, so by default z is the `batch` mean of x over the
    learnt sequences, at least 0; or it is `zero`. `weight` is the sequence's own, which balances the two
    kinds (`agentevol.data.preference_pairs.labels`).

    Raises `ValueError` for sequences of side 0 without `mismatched`, and for a part of an optimiser batch,
    whose mean would differ.
    """
    labelled_J = batch.side != 0
    if kto_reference != "mismatched" and not bool(labelled_J.all()):
        raise ValueError("KTO learns from desirable (1) and undesirable (-1) sequences; one has side 0")
    if len(batch.side) != batch.totals.sequences:
        raise ValueError(f"KTO needs all {batch.totals.sequences} sequences at once, not {len(batch.side)}")
    every_J = batch.sums(batch.logp - batch.ref_logp)
    point = _point(every_J, labelled_J, kto_reference)
    log_ratio_J, desirable_J = every_J[labelled_J], batch.side[labelled_J] > 0
    loss_J = batch.weight[labelled_J] * kto_losses(
        log_ratio_J,
        point,
        desirable_J,
        beta=beta,
        desirable_weight=desirable_weight,
        undesirable_weight=undesirable_weight,
    )
    rewards = {"reward_desirable": desirable_J, "reward_undesirable": ~desirable_J}
    means = {
        name: (beta * log_ratio_J[kind_J]).mean().item() for name, kind_J in rewards.items() if kind_J.any()
    }
    others = {"reference_point": point.item(), "kl": log_ratio_J.mean().item()}
    return Loss(loss_J.sum() / max(len(loss_J), 1), means | others)


def _point(log_ratio_J: "Tensor", labelled_J: "Tensor", kind: str) -> "Tensor":
    """z of an optimiser batch; 0 where the batch has no sequence of the kind."""
    chosen = {"batch": labelled_J, "mismatched": ~labelled_J}.get(kind)
    if chosen is None or not bool(chosen.any()):
        return log_ratio_J.new_zeros(())
    return reference_point(log_ratio_J[chosen])


def reference_point(log_ratio: "Tensor") -> "Tensor":
    """Estimate of the divergence from the reference: the mean, at least 0, without gradient."""
    return log_ratio.detach().mean().clamp(min=0)


def kto_losses(
    log_ratio_J: "Tensor",
    point: "Tensor | float",
    desirable_J: "Tensor",
    *,
    beta: float = 0.1,
    desirable_weight: float = 1.0,
    undesirable_weight: float = 1.0,
) -> "Tensor":
    """(J,) w (1 - sigmoid(beta (x - z))) of desirable sequences, w (1 - sigmoid(beta (z - x))) of others."""
    number = log_ratio_J.new_tensor  # keeps the precision of the tensor
    sign_J = torch.where(desirable_J, number(1.0), number(-1.0))
    weight_J = torch.where(desirable_J, number(desirable_weight), number(undesirable_weight))
    return weight_J * torch.sigmoid(-beta * sign_J * (log_ratio_J - point))


ALGORITHM = Algorithm(
    loss=kto, data="labels", together="batch", needs={"ref_logp": None}, stops_gradient=True
)
