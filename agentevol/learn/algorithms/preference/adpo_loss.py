"""Components of ADPO's loss: targets, temperatures, scores, and the loss of a group.

A group of two episodes with advantages ln 2 and 0 and log-ratios 1 and 0 to the anchor, temperature 0.5:

    target     softmax of the advantages        [2/3, 1/3]
    scores     log-ratio / temperature          [2, 0]
    listwise   -sum q log softmax(scores)       0.794
"""

from dataclasses import dataclass
from math import log
from typing import Literal

import torch
from torch import Tensor

from agentevol.learn.algorithms.preference.ranking import plackett_luce

EPSILON = 1e-8
"""Added to standard deviations, and below the logarithm of an entropy."""

LONG = 256
"""Learnt tokens above which an episode is long: the sum of its log-ratios saturates the softmax."""

Adaptive = Literal["entropy", "difficulty", "batch"]
Means = Literal["long", "always", "never"]
Form = Literal["listwise", "plackett_luce"]


def target(advantage_G: Tensor, beta_reward: float, *, renormalize: bool = False) -> Tensor:
    """(G,) target distribution q, which sums to 1."""
    if renormalize and len(advantage_G) > 1:
        centred_G = advantage_G - advantage_G.mean()
        advantage_G = centred_G / (centred_G.std() + EPSILON)
    return torch.softmax(advantage_G / beta_reward, dim=0)


def relative_entropy(q_G: Tensor) -> Tensor:
    """H(q) / ln G: 1 for the uniform distribution, about 0 for a certain one and for a group of one."""
    if len(q_G) == 1:
        return q_G.new_zeros(())
    return -(q_G * (q_G + EPSILON).log()).sum() / log(len(q_G))


@dataclass(frozen=True)
class Temperature:
    """Divisor of the log-ratios: tau, or unless `kind` is None a function of h = H(q) / ln G.

    entropy      max(least, tau (1 - alpha h)): the more alike the returns, the smaller
    difficulty   tau (1 + alpha h + difficulty_coef (1 - h) (1 - R)), R the group's mean return cut to [0, 1];
                 kept within [least, most]
    batch        as entropy, with the mean h of all groups of the optimiser batch: one tau for all of them
    """

    kind: Adaptive | None
    tau: float
    alpha: float
    difficulty_coef: float
    least: float
    most: float

    def of_groups(self, entropy_P: Tensor, return_P: Tensor, groups: int) -> Tensor:
        """(P,) temperatures of groups with these relative entropies and mean returns.

        Raises `ValueError` for `kind` batch where these are not all the `groups`.
        """
        if self.kind is None:
            return torch.full_like(entropy_P, self.tau)
        if self.kind == "entropy":
            return self._by_entropy(entropy_P)
        if self.kind == "difficulty":
            return self._by_difficulty(entropy_P, return_P)
        if len(entropy_P) != groups:
            raise ValueError(f"one temperature for a batch needs all of its {groups} groups at once")
        return self._by_entropy(entropy_P.mean().expand_as(entropy_P))

    def _by_entropy(self, entropy_P: Tensor) -> Tensor:
        return (self.tau * (1 - self.alpha * entropy_P)).clamp(min=self.least)

    def _by_difficulty(self, entropy_P: Tensor, return_P: Tensor) -> Tensor:
        missing_P = 1 - return_P.clamp(0, 1)
        factor_P = 1 + self.alpha * entropy_P + self.difficulty_coef * (1 - entropy_P) * missing_P
        return (self.tau * factor_P).clamp(min=self.least, max=self.most)


@dataclass(frozen=True)
class Anchoring:
    """Conversion of log-ratios to the anchor into scores; a limit of 0 does not clip."""

    means: Means
    drift_limit: float
    score_limit: float

    def scores(self, drift_G: Tensor, lengths_G: Tensor, tau: Tensor) -> Tensor:
        """(G,) scores of episodes with these sums of log-ratios over `lengths_G` learnt tokens."""
        long = self.means == "long" and bool((lengths_G > LONG).any())
        if long or self.means == "always":
            drift_G = drift_G / lengths_G
        return within(within(drift_G, self.drift_limit) / tau, self.score_limit)


def within(values: Tensor, limit: float) -> Tensor:
    """Values clipped to +- `limit`; 0 does not clip."""
    return values.clamp(-limit, limit) if limit else values


def group_loss(score_G: Tensor, q_G: Tensor, advantage_G: Tensor, form: Form, top_k: int) -> Tensor:
    """Divergence of the scores from the target, or from the order of the advantages."""
    if form == "listwise":
        return -(q_G * torch.log_softmax(score_G, dim=0)).sum()
    return places(score_G, advantage_G, top_k)


def places(score_G: Tensor, advantage_G: Tensor, top_k: int) -> Tensor:
    """Mean over the counted places of the negative Plackett-Luce log-likelihood."""
    count = max(len(score_G) - 1, 1)
    loss = plackett_luce(score_G, advantage_G, ties="drop", top_k=top_k)
    return loss / (min(top_k, count) if top_k else count)


def k3(log_ratio: Tensor) -> Tensor:
    """exp(d) - d - 1 with d clipped to at most 20, against overflow."""
    bounded = log_ratio.clamp(max=20.0)
    return bounded.exp() - bounded - 1
