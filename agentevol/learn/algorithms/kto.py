"""Kahneman-Tversky optimisation: single episodes that are desirable or not, without pairs."""

from typing import TYPE_CHECKING, Literal

import torch

from agentevol.learn.algorithms.contract import Algorithm, Batch, Loss
from agentevol.learn.algorithms.options import NotNegative, Positive

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

    The reference point z of the paper comes from completions beside prompts of others: `mismatched` takes the
    mean of x over sequences of side 0, which are that (`agentevol.rows.beside.mismatched`), at least 0. An
    episode of several turns beside the prompt of another has no observations that would make sense, so by
    default z is the `batch` mean of x over what is learnt, at least 0; or it is `zero`. `weight` is the
    sequence's own, which balances the two kinds (`agentevol.rows.pairing.labels`).

    Raises `ValueError` for a sequence of side 0 that nothing reads, and for a part of an optimiser batch,
    whose mean would be another.
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
    """z of an optimiser batch; 0 where nothing of the kind is in it."""
    chosen = {"batch": labelled_J, "mismatched": ~labelled_J}.get(kind)
    if chosen is None or not bool(chosen.any()):
        return log_ratio_J.new_zeros(())
    return reference_point(log_ratio_J[chosen])


def reference_point(log_ratio: "Tensor") -> "Tensor":
    """The mean, at least 0, without gradient: an estimate of the divergence from the reference."""
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
    number = log_ratio_J.new_tensor  # of its precision, which a Python number in `where` would not have
    sign_J = torch.where(desirable_J, number(1.0), number(-1.0))
    weight_J = torch.where(desirable_J, number(desirable_weight), number(undesirable_weight))
    return weight_J * torch.sigmoid(-beta * sign_J * (log_ratio_J - point))


ALGORITHM = Algorithm(
    loss=kto, data="labels", together="batch", needs={"ref_logp": None}, stops_gradient=True
)
