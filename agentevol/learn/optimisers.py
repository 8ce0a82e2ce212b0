"""What turns gradients into steps."""

from typing import cast

import torch
from transformers import PreTrainedModel

from agentevol.learn.config import LearnConfig


def optimisers(model: PreTrainedModel, config: LearnConfig) -> list[torch.optim.Optimizer]:
    """The configured optimisers, each for its part of the parameters; weight decay on matrices only."""
    matrices = {name for name, parameter in model.named_parameters() if parameter.ndim >= 2}
    if config.optimiser == "adamw":
        return [_adamw(model, config, matrices)]
    embeddings = {id(module.weight) for module in _ends(model)}
    inner = {name: p for name, p in model.named_parameters() if p.ndim == 2 and id(p) not in embeddings}
    muon = torch.optim.Muon(
        inner.values(),
        lr=config.learning_rate,
        weight_decay=config.weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
    return [muon, _adamw(model, config, matrices, without=set(inner))]


def _ends(model: PreTrainedModel) -> list[torch.nn.Linear | torch.nn.Embedding]:
    """Input embeddings and output head: rows of them are words, and an orthogonal update means nothing."""
    ends = (model.get_input_embeddings(), model.get_output_embeddings())
    return [cast(torch.nn.Linear | torch.nn.Embedding, end) for end in ends if end is not None]


def _adamw(
    model: PreTrainedModel,
    config: LearnConfig,
    matrices: set[str],
    without: frozenset[str] | set[str] = frozenset(),
) -> torch.optim.AdamW:
    trained = {
        name: parameter
        for name, parameter in model.named_parameters()
        if parameter.requires_grad and name not in without
    }
    groups = [
        {
            "params": [p for name, p in trained.items() if name in matrices],
            "weight_decay": config.weight_decay,
        },
        {"params": [p for name, p in trained.items() if name not in matrices], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(
        [group for group in groups if group["params"]],
        lr=config.learning_rate,
        betas=config.betas,
        fused=True,
    )
