"""Listwise ranking: the policy's scores of a task's episodes are fitted to the order of their returns."""

from math import comb
from typing import TYPE_CHECKING, Annotated, Literal

import torch
from pydantic import Field

from agentevol.core.algorithms.contract import MOST_TIED, Algorithm, Batch, Loss
from agentevol.core.algorithms.options import Positive
from agentevol.core.errors import ConfigError
from agentevol.learn.algorithms.losses.comparisons import averages, groups, mean_logp

if TYPE_CHECKING:
    from torch import Tensor

EQUAL = 1e-6
"""Tolerance of tied returns (beyond 1, as a share of the largest): sums of equal rewards differ in the last
digits, and batches are float32.
"""


Places = Annotated[int, Field(ge=0)]


def ranking(
    batch: Batch,
    *,
    beta: Positive = 0.1,
    reference: bool = True,
    ties: Literal["average", "drop"] = "average",
    top_k: Places = 0,
) -> Loss:
    """Mean over groups of the negative Plackett-Luce log-likelihood of the order of the returns.

    The score of an episode is beta times its sum of logp - ref_logp, or without `reference` beta times its
    mean logp. `top_k` keeps the terms of the best k places; 0 keeps all. A group of one has no loss.
    """
    score_J = beta * (batch.sums(batch.logp - batch.ref_logp) if reference else mean_logp(batch))
    found = groups(batch)
    losses = [
        plackett_luce(score_J[members_G], batch.reward[members_G], ties=ties, top_k=top_k)
        for members_G in found
    ]
    best = [_names_a_best(score_J[members_G], batch.reward[members_G]) for members_G in found]
    spread = [score_J[members_G].max() - score_J[members_G].min() for members_G in found]
    return Loss(
        torch.stack(losses).sum() / batch.totals.units,
        averages(batch.totals.units, {"best_first": torch.stack(best), "score_spread": torch.stack(spread)}),
    )


def plackett_luce(
    score_G: "Tensor",
    reward_G: "Tensor",
    *,
    ties: Literal["average", "drop"] = "average",
    top_k: int = 0,
) -> "Tensor":
    """-sum over the places j < G of s_j - logsumexp of the scores of place j and all later ones.

    Places are in the order of falling reward (Plackett, 1975; ListMLE of Xia et al., 2008). Tied episodes
    share their places: `average` is the mean loss over their orders; `drop` leaves out the comparisons among
    them, so that each competes only with strictly worse ones. Raises `ConfigError` for more than 16 tied with
    `average`.
    """
    places = top_k or len(score_G)
    total = score_G.sum() * 0.0
    gap = _equal(reward_G)
    for first, tied in _tiers(reward_G, gap):
        counted = min(len(tied), places - first)
        if counted <= 0:
            break
        lower = score_G[reward_G < reward_G[tied].min() - gap]
        term = _averaged if ties == "average" else _dropped
        total = total + term(score_G[tied], lower, counted)
    return total


def _equal(reward_G: "Tensor") -> float:
    return EQUAL * max(1.0, reward_G.abs().max().item())


def _tiers(reward_G: "Tensor", gap: float) -> list[tuple[int, list[int]]]:
    """Each set of tied episodes, best first, with the number of the place at which it begins, from 0."""
    order = reward_G.argsort(descending=True, stable=True).tolist()
    values = reward_G.tolist()
    starts = [
        place
        for place, number in enumerate(order)
        if place == 0 or values[order[place - 1]] - values[number] > gap
    ]
    ends = [*starts[1:], len(order)]
    return [(start, order[start:end]) for start, end in zip(starts, ends, strict=True)]


def _averaged(tied: "Tensor", lower: "Tensor", counted: int) -> "Tensor":
    """Mean over the orders of `tied` of the terms of their first `counted` places.

    With k of them left, every subset of size k is equally likely. The last place of all has no competitor:
    its term is a score minus itself.
    """
    count = len(tied)
    if count > MOST_TIED:
        raise ConfigError(
            f"{count} episodes of a group are tied, more than {MOST_TIED}: set learn.options.ties = 'drop'"
        )
    numbers = torch.arange(1, 2**count, device=tied.device)
    left_SG = (numbers[:, None] >> torch.arange(count, device=tied.device)) & 1 == 1  # S non-empty subsets
    scores_SG = tied.expand(len(numbers), -1).masked_fill(~left_SG, -torch.inf)
    competing = torch.logsumexp(torch.cat([scores_SG, lower.expand(len(numbers), -1)], dim=1), dim=1)
    sizes_S = left_SG.sum(dim=1)
    share_S = tied.new_tensor([1 / comb(count, size) for size in range(1, count + 1)])[sizes_S - 1]
    share_S = share_S * (sizes_S > count - counted)
    return (share_S * competing).sum() - counted * tied.mean()


def _dropped(tied: "Tensor", lower: "Tensor", counted: int) -> "Tensor":
    """The share `counted` of the terms in which each of `tied` competes with `lower` alone."""
    alone_S = torch.cat([tied[:, None], lower.expand(len(tied), -1)], dim=1)
    return (torch.logsumexp(alone_S, dim=1) - tied).sum() * (counted / len(tied))


def _names_a_best(score_G: "Tensor", reward_G: "Tensor") -> "Tensor":
    """1 where the highest score is that of an episode of the highest return."""
    return (reward_G[score_G.argmax()] >= reward_G.max() - _equal(reward_G)).double()


ALGORITHM = Algorithm(loss=ranking, data="groups", together="unit", needs={"ref_logp": "reference"})
