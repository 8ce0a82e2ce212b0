"""Optimisers of the trained parameters: AdamW and Muon."""

from collections.abc import Sequence
from typing import cast

import torch
from transformers import PreTrainedModel

from agentevol.config.sections.learner import LearnConfig
from agentevol.learn.heads import critic
from agentevol.learn.muon import Muon
from agentevol.learn.network.network import Network


def optimisers(network: Network, config: LearnConfig) -> list[torch.optim.Optimizer]:
    """The configured optimisers, each for its part of the trained parameters; a critic's own is the last.

    Every parameter group holds its peak learning rate as `initial_lr`.
    """
    used = _optimisers(network, config)
    for group in (group for optimiser in used for group in optimiser.param_groups):
        group["initial_lr"] = group["lr"]
    return used


def _optimisers(network: Network, config: LearnConfig) -> list[torch.optim.Optimizer]:
    trained = network.parameters()
    if config.critic_learning_rate is None and not config.critic_warmup:
        return _together(network, trained, config)
    own = critic.parameters(network)
    taken = {id(parameter) for parameter in own}
    policy = [parameter for parameter in trained if id(parameter) not in taken]
    return [*_together(network, policy, config), _adamw(own, config, config.critic_learning_rate)]


def _together(
    network: Network, trained: Sequence[torch.nn.Parameter], config: LearnConfig
) -> list[torch.optim.Optimizer]:
    """Optimisers of these parameters: one, or one of the inner matrices and one of the rest."""
    if config.optimiser == "adamw":
        return [_adamw(trained, config)]
    ends = {id(module.weight) for module in _ends(network.model)}
    embeddings = ends | {id(parameter) for parameter in _heads(network)}
    inner = [parameter for parameter in trained if parameter.ndim == 2 and id(parameter) not in embeddings]
    muon = Muon(inner, config.learning_rate, config.weight_decay)
    taken = {id(parameter) for parameter in inner}
    return [muon, _adamw([parameter for parameter in trained if id(parameter) not in taken], config)]


def _heads(network: Network) -> list[torch.nn.Parameter]:
    return [] if network.heads is None else list(network.heads.parameters())


def _ends(model: PreTrainedModel) -> list[torch.nn.Linear | torch.nn.Embedding]:
    """Input embeddings and output head: a row of them is a token, so orthogonalised updates do not apply."""
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    return [cast(torch.nn.Linear | torch.nn.Embedding, end) for end in ends if end is not None]


def _adamw(
    parameters: Sequence[torch.nn.Parameter], config: LearnConfig, learning_rate: float | None = None
) -> torch.optim.AdamW:
    """AdamW at this learning rate, or the policy's; weight decay on matrices only, not on norms and
    biases.
    """
    matrices = [parameter for parameter in parameters if parameter.ndim >= 2]
    others = [parameter for parameter in parameters if parameter.ndim < 2]
    groups = [
        {"params": matrices, "weight_decay": config.weight_decay},
        {"params": others, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate if learning_rate is None else learning_rate,
        betas=config.betas,
        fused=True,
    )
