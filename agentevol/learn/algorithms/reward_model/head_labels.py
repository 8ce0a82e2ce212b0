"""Shared parts of the losses of reward models: counts of known labels, means, and bootstrap resamples.

With D objectives and K ensemble members there are H = D * K heads, and those of one objective are adjacent:
head d * K + k is member k's prediction of objective d, so `head_NH.unflatten(1, (-1, K))` is (N, D, K).
"""

from math import exp, factorial

import numpy as np
import torch
from torch import Tensor

from agentevol.core.algorithms.contract import Batch
from agentevol.core.errors import ConfigError
from agentevol.core.splitmix import uniform

_POISSON = np.cumsum([exp(-1) / factorial(count) for count in range(16)])
"""P(count <= 0, 1, ...) of a Poisson variable of mean 1; the rest is below the resolution of a float."""


def known_labels(batch: Batch) -> Tensor:
    """(H,) number of learnt tokens with a label, for each head, in the whole optimiser batch."""
    counts = batch.totals.labels
    if len(counts) != batch.head.shape[1]:
        raise ConfigError(f"{len(counts)} counts of labels for {batch.head.shape[1]} heads")
    return batch.head.new_tensor(counts)


def of_known(values_NH: Tensor, count_H: Tensor) -> Tensor:
    """(H,) this micro-batch's part of each head's mean over known labels; 0 for heads without labels."""
    return values_NH.sum(dim=0) / count_H.clamp(min=1)


def over_heads(values_H: Tensor, count_H: Tensor) -> Tensor:
    """Mean over the heads that have labels."""
    return values_H.sum() / (count_H > 0).sum().clamp(min=1)


def bootstrap(group: Tensor, members: int, seed: int) -> Tensor:
    """(len(group), members) multiplicity of each group in each member's bootstrap resample of tasks.

    Counts 0, 1, 2, ... of mean 1, independent by member and group, a function of the seed, member and group
    alone, whatever batch the group is in: the Poisson form of the bootstrap, for data that come in parts (Oza
    and Russell, 2001, "Online bagging and boosting"). A single member sees everything.
    """
    if members == 1:
        return torch.ones(len(group), 1, device=group.device)
    drawn = [uniform(seed, name, member) for name in group.tolist() for member in range(members)]
    uniform_GM = np.asarray(drawn).reshape(len(group), members)
    return torch.from_numpy(np.searchsorted(_POISSON, uniform_GM, side="right")).to(group.device)
