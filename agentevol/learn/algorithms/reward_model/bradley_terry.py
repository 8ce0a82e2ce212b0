"""Bradley-Terry reward model: the score of the better episode of a pair should exceed that of the worse one.

The score of a sequence is the output of the heads at its last learnt token; earlier outputs are ignored.
"""

from dataclasses import dataclass
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import logsigmoid

from agentevol.core.algorithms.contract import Algorithm, Batch, Loss
from agentevol.core.algorithms.options import NotNegative
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.losses.comparisons import pairs
from agentevol.learn.algorithms.reward_model.head_labels import bootstrap, known_labels, of_known, over_heads

Count = Annotated[int, Field(ge=1)]


def bradley_terry(
    batch: Batch, *, heads: Count = 4, seed: int = 0, centre: NotNegative = 0.0, margin: NotNegative = 0.0
) -> Loss:
    """Mean over the pairs of each head, then over the heads, of the pair's negative log-likelihood.

        -log sigmoid(s_better - s_worse - margin * batch.margin) + centre * (s_better + s_worse)^2

    (Bradley and Terry, 1952; the margin: Touvron et al., 2023, arXiv:2307.09288, eq. 2; the centre:
    Eisenstein et al., 2023, arXiv:2312.09244). Of a pair whose chosen side is the better one with probability
    p, the first term is taken p times, and 1 - p times with the sides swapped and without a margin.

    Without `batch.label` the chosen side is better in every objective. With it, a head's better side is the
    one of the higher label, and pairs whose labels are missing or equal are ignored by that head; the caller
    has to set both sides of such a pair to NaN, so that `totals.labels` counts the others. The margin is that
    between the sides, and left out where a head's labels contradict it.

    Each objective has `heads` heads, the members of an ensemble: see `heads.py` for their order. Each member
    learns from its own bootstrap resample of groups, drawn from `seed` and the numbers in `batch.group`: a
    group has to keep its number for as long as the model is trained.
    """
    compared = _paired(batch)
    outputs = compared.difference_UH.shape[1]
    if outputs % heads:
        raise ConfigError(f"{outputs} outputs cannot be shared by objectives with {heads} heads each")
    count_H = _pairs_per_head(batch)
    known_UH = compared.better_UH.abs()
    drawn_UK = bootstrap(compared.group_U, heads, seed).to(known_UH)
    drawn_UH = drawn_UK.repeat(1, outputs // heads)
    margin_UH = margin * compared.margin_U[:, None] * (compared.better_UH > 0)
    gap_UH, p_U1 = compared.better_UH * compared.difference_UH, compared.preference_U[:, None]
    likelihood_UH = p_U1 * logsigmoid(gap_UH - margin_UH) + (1 - p_U1) * logsigmoid(-gap_UH)
    loss_UH = -likelihood_UH + centre * compared.sum_UH**2
    value = over_heads(of_known(loss_UH * known_UH * drawn_UH, count_H), count_H)
    return Loss(value, _metrics(compared, count_H, heads))


@dataclass(frozen=True)
class _Pairs:
    """Scores and labels of U pairs for H heads."""

    difference_UH: Tensor
    """Score of the chosen side minus that of the rejected."""
    sum_UH: Tensor
    better_UH: Tensor
    """1 where the chosen side is better, -1 where the rejected one is, 0 where unknown."""
    margin_U: Tensor
    preference_U: Tensor
    """Probability that the better side of the labels, or the chosen one, is better indeed."""
    group_U: Tensor


def _paired(batch: Batch) -> _Pairs:
    """Return the compared pairs; raises `ValueError` for a unit that is not one chosen and one rejected
    sequence.
    """
    chosen_U, rejected_U = pairs(batch)
    last_J = _last_tokens(batch)
    score_JH = batch.head[last_J]
    better_UH = torch.ones_like(score_JH[chosen_U])
    if batch.label is not None:
        label_JH = batch.label[last_J]
        better_UH = (label_JH[chosen_U] - label_JH[rejected_U]).sign().nan_to_num(0.0)
    return _Pairs(
        difference_UH=score_JH[chosen_U] - score_JH[rejected_U],
        sum_UH=score_JH[chosen_U] + score_JH[rejected_U],
        better_UH=better_UH,
        margin_U=batch.margin[chosen_U],
        preference_U=batch.preference[chosen_U],
        group_U=batch.group[chosen_U],
    )


def _last_tokens(batch: Batch) -> Tensor:
    """(J,) index of the last learnt token of each sequence."""
    places = torch.arange(len(batch.sequence), device=batch.sequence.device)
    last = torch.zeros_like(batch.unit)
    return last.scatter_reduce(0, batch.sequence, places, "amax", include_self=False)


def _pairs_per_head(batch: Batch) -> Tensor:
    """(H,) number of pairs of the optimiser batch that each head learns from."""
    if batch.label is None:
        return batch.head.new_full(batch.head.shape[1:], batch.totals.units)
    return known_labels(batch) / 2


def _metrics(compared: _Pairs, count_H: Tensor, members: int) -> dict[str, float]:
    """Metrics on all pairs, including those outside a member's resample; `accuracy_0`, ... by objective."""
    known_UH, gap_UH = compared.better_UH.abs(), (compared.better_UH * compared.difference_UH).detach()
    scores_UH = compared.sum_UH.detach() * known_UH, compared.difference_UH.detach() * known_UH
    correct_UH = ((gap_UH > 0) + 0.5 * (gap_UH == 0)) * known_UH
    values = {
        "accuracy": correct_UH,
        "score_gap": gap_UH,
        "score_chosen": (scores_UH[0] + scores_UH[1]) / 2,
        "score_rejected": (scores_UH[0] - scores_UH[1]) / 2,
    }
    metrics = {name: over_heads(of_known(value, count_H), count_H).item() for name, value in values.items()}
    by_objective = of_known(correct_UH, count_H).unflatten(0, (-1, members)).mean(dim=1).tolist()
    if len(by_objective) == 1:
        return metrics
    return metrics | {f"accuracy_{number}": value for number, value in enumerate(by_objective)}


ALGORITHM = Algorithm(loss=bradley_terry, data="pairs", together="unit", model="reward", soft_pairs=True)
