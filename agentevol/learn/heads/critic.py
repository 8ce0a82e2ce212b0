"""Critic training: a separate optimiser, and a warm-up in which the critic is trained alone.

The critic is a head on the policy's hidden states. With `learn.critic_learning_rate` or `learn.critic_warmup`
it has an optimiser of its own; the hidden states below it belong to the policy, and only the policy's
optimiser changes them. During the warm-up the policy's weights stay equal bit for bit.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

from agentevol.config.sections.learner import LearnConfig
from agentevol.learn.distributed.sharding import whole
from agentevol.learn.heads import linear
from agentevol.learn.network.network import Network
from agentevol.models.checkpoints import read_lineage

BATCHES = "critic_batches"
"""Metric in a checkpoint: number of optimiser batches that its critic was trained on since it was new."""


def batches_learnt(start: Path) -> int:
    """Number of optimiser batches that the critic of this checkpoint was trained on; 0 without a critic."""
    lineage = read_lineage(start) if (start / linear.FILE).is_file() else None
    return int((lineage.metrics.get(BATCHES) if lineage else None) or 0)


def steps_alone(config: LearnConfig, start: Path, steps: int) -> int:
    """Number of the next `steps` optimiser steps that train the critic alone."""
    return min(max(config.critic_warmup - batches_learnt(start), 0), steps) if config.critic_warmup else 0


def figures(config: LearnConfig, network: Network, start: Path, steps: int) -> dict[str, float]:
    """Metrics of the critic for the checkpoint `steps` after `start`; empty without one."""
    if network.kind != "critic":
        return {}
    alone = steps_alone(config, start, steps)
    return {BATCHES: float(batches_learnt(start) + steps), "critic_alone": float(alone)}


def own_optimisers(used: Sequence[torch.optim.Optimizer], network: Network) -> list[torch.optim.Optimizer]:
    """The optimisers that train the critic and nothing else."""
    critic = {id(parameter) for parameter in parameters(network)}
    return [
        optimiser
        for optimiser in used
        if all(id(parameter) in critic for group in optimiser.param_groups for parameter in group["params"])
    ]


def parameters(network: Network) -> list[torch.nn.Parameter]:
    """Parameters of the critic; none where the network has no critic."""
    if network.kind != "critic" or network.heads is None:
        return []
    return list(network.heads.parameters())


def clip(network: Network, limit: float, *, apart: bool) -> tuple[float, dict[str, float]]:
    """Scale the gradients down to a norm of `limit`: that of all together, or of the critic's and the others'
    separately (`apart`). Returns the norm over all of them before, and the critic's as a metric where there
    is one.
    """
    everything, own = network.parameters(), parameters(network)
    taken = {id(parameter) for parameter in own}
    rest = [parameter for parameter in everything if id(parameter) not in taken]
    norm = _norm(everything)
    noted = {"critic_grad_norm": _norm(own).item()} if own else {}
    for part in (rest, own) if apart else (everything,):
        clip_grads_with_norm_(part, limit, norm if part is everything else _norm(part))
    return norm.item(), noted


def _norm(given: Sequence[torch.nn.Parameter]) -> torch.Tensor:
    return whole(get_total_norm([p.grad for p in given if p.grad is not None]))
