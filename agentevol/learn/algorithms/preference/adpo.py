"""Anchored direct preference optimisation, version A: a group's scores, relative to the policy that explored,
are fitted to a softmax of its returns (arXiv:2510.18913; wk222/verlm at e51101ae).

Other versions are options:

    B, the paper's text   temperature difficulty, tau_min 0.1, length_normalize always
    C, the later code     form plackett_luce, temperature batch, beta_reward 0.3, length_normalize always,
                          drift_limit 5, score_limit 10

Only version A is tested against values of the original. Of C's temperature only one fact is known, that it is
one per batch; ours is version A's, at the mean relative entropy of the batch's groups. C's smoothing of
places and its polynomial loss are not implemented: neither their formulas nor reference values are known.

With P groups, q the softmax of returns and u the scores, the gradient by the summed log-probability of
episode i is (softmax(u)_i - q_i) / (tau P): bounded, and zero where policy = anchor * q^tau.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from agentevol.core.algorithms.contract import Advantages, Algorithm, Batch, Floats, Loss, Rollouts
from agentevol.core.algorithms.options import NotNegative, Positive
from agentevol.learn.algorithms.episode_weights import EQUAL, members
from agentevol.learn.algorithms.losses.comparisons import averages, groups
from agentevol.learn.algorithms.preference.adpo_loss import (
    EPSILON,
    Adaptive,
    Anchoring,
    Form,
    Means,
    Temperature,
    group_loss,
    k3,
    relative_entropy,
    target,
)


def adpo(
    batch: Batch,
    *,
    tau: Positive = 0.8,
    beta_reward: Positive = 0.5,
    adaptive: bool = True,
    temperature: Adaptive = "entropy",
    alpha: NotNegative = 0.5,
    difficulty_coef: NotNegative = 0.5,
    tau_min: Positive = 0.05,
    tau_max: Positive = 5.0,
    form: Form = "listwise",
    top_k: Annotated[int, Field(ge=0)] = 3,
    drift_limit: NotNegative = 0.0,
    score_limit: NotNegative = 0.0,
    kl_coef: NotNegative = 0.0,
    renormalize_q: bool = False,
    length_normalize: Means = "long",
) -> Loss:
    """Mean over groups of -sum q log softmax(u), plus `kl_coef` times the token mean of k3.

    q = softmax(advantage / beta_reward) without gradient; `renormalize_q` standardises the advantages of each
    group first, as the released code does, which cancels `scale_rewards`. u is the sum of logp - old_logp
    over the learnt tokens, divided by tau, which is given by `anchored.Temperature` if `adaptive`.

    `length_normalize` takes means instead of sums: in groups with an episode of more than 256 learnt tokens
    (`long`), or in all. Above 0, `drift_limit` clips these to +- itself before the division by tau,
    `score_limit` after it; clipped values have no gradient. `form` plackett_luce is the mean over the best
    `top_k` places (0: all) of the negative log-likelihood that the scores are in the order of the returns;
    equal returns do not compete.

    Where a group's returns are all equal, q is uniform: not a signal but a pull back to the anchor; see
    `weigh`.
    """
    found = groups(batch)
    if not found:
        return Loss(batch.logp.sum() * 0.0)  # every group was dropped
    drift_N = batch.logp - batch.old_logp
    drift_J = batch.sums(drift_N)
    advantage_J = (batch.sums(batch.advantage) / batch.lengths).detach()
    q = [target(advantage_J[own_G], beta_reward, renormalize=renormalize_q) for own_G in found]
    entropy_P = torch.stack([relative_entropy(q_G) for q_G in q])
    return_P = torch.stack([batch.reward[own_G].mean() for own_G in found])
    softness = Temperature(temperature if adaptive else None, tau, alpha, difficulty_coef, tau_min, tau_max)
    tau_P = softness.of_groups(entropy_P, return_P, batch.totals.units)
    anchoring = Anchoring(length_normalize, drift_limit, score_limit)
    scores = [
        anchoring.scores(drift_J[own_G], batch.lengths[own_G], tau_x)
        for own_G, tau_x in zip(found, tau_P, strict=True)
    ]
    losses = [
        group_loss(score_G, q_G, advantage_J[own_G], form, top_k)
        for own_G, q_G, score_G in zip(found, q, scores, strict=True)
    ]
    loss_P, k3_N = torch.stack(losses), k3(-drift_N)
    value = loss_P.sum() / batch.totals.units
    if kl_coef:
        value = value + kl_coef * k3_N.sum() / batch.totals.tokens
    by_group = {"listwise": loss_P, "tau": tau_P, "relative_entropy": entropy_P}
    return Loss(value, _metrics(batch, by_group, drift_J, k3_N, torch.cat(scores)))


def _metrics(
    batch: Batch, by_group: Mapping[str, Tensor], drift_J: Tensor, k3_N: Tensor, score_J: Tensor
) -> dict[str, float]:
    return (
        averages(batch.totals.units, by_group)
        | averages(batch.totals.sequences, {"drift": drift_J.abs()})
        | averages(batch.totals.tokens, {"k3": k3_N})
        | {"groups": float(len(by_group["tau"])), "score_max": score_J.detach().abs().max().item()}
    )


def advantage(
    rollouts: Rollouts,
    *,
    scale_rewards: Literal["group", "batch", "none"] = "group",
    repetition_penalty: NotNegative = 0.0,
) -> Advantages:
    """Return less the group's mean, divided by the standard deviation (ddof 1) of the group, of all explored
    episodes, or by nothing; equal at every token of an episode. 0 in groups of equal returns.

    A return of at most 0 is reduced by `repetition_penalty` times the share of repeated 4-grams of words:
    with 0.05 and returns of 0 or 1 that is the reward `good_accuracy` of the original.
    """
    returns = rollouts.returns
    if repetition_penalty:
        returns = np.where(returns > 0, returns, returns - repetition_penalty * rollouts.repeated)
    advantage_J = np.zeros_like(returns)
    found = members(rollouts.group)
    varied = [rows for rows in found if np.ptp(returns[rows]) > EQUAL]
    for rows in varied:
        centred = returns[rows] - returns[rows].mean()
        advantage_J[rows] = centred / _scale(scale_rewards, returns[rows], returns)
    metrics = {"groups_without_variance": 1 - len(varied) / len(found)}
    return Advantages(advantage_J[rollouts.sequence], metrics=metrics)


def _scale(kind: str, of_group: Floats, of_all: Floats) -> float:
    if kind == "none":
        return 1.0
    return float(np.std(of_group if kind == "group" else of_all, ddof=1)) + EPSILON


def weigh(
    returns: Sequence[float],
    groups: Sequence[str],
    *,
    drop_all_failed: bool = False,
    skip_zero_variance: bool = False,
) -> Floats:
    """Episode weights: 0 in dropped groups, 1 in others; the mean of the loss is over those that remain.

    `drop_all_failed` drops groups without a return above 0, `skip_zero_variance` those of equal returns.
    """
    values = np.asarray(returns, dtype=np.float64)
    weights = np.ones_like(values)
    for rows in members(groups):
        failed = drop_all_failed and values[rows].max() <= 0
        flat = skip_zero_variance and np.ptp(values[rows]) <= EQUAL
        weights[rows] = 0.0 if failed or flat else 1.0
    return weights


ALGORITHM = Algorithm(
    loss=adpo,
    data="groups",
    together="unit",
    whole_batch_with=("temperature", "batch"),
    needs={"old_logp": None},
    advantage=advantage,
    weigh=weigh,
    only_with={
        "alpha": "adaptive",
        "tau_min": "adaptive",
        "temperature": "adaptive",
        "difficulty_coef": ("temperature", "difficulty"),
        "tau_max": ("temperature", "difficulty"),
        "top_k": ("form", "plackett_luce"),
        # the order of the returns is independent of their scale: only q depends on it
        "beta_reward": [("form", "listwise"), "adaptive"],
        "scale_rewards": [("form", "listwise"), "adaptive"],
        "renormalize_q": [("form", "listwise"), "adaptive"],
    },
)
