"""Initial heads of a training: those of the checkpoint if they are of the trained kind, else new ones."""

from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import PreTrainedModel

from agentevol.core.algorithms.contract import Objective
from agentevol.core.errors import ConfigError
from agentevol.learn.heads import linear, reward_scale
from agentevol.learn.heads.names import check_heads, head_names, named


def process_heads(folder: Path, model: PreTrainedModel, names: Sequence[str]) -> torch.nn.Linear:
    """Heads of these names: those of the checkpoint if it is a process reward model, else new ones.

    Raises `ConfigError` for a process reward model with other heads.
    """
    check_heads(folder, names)
    if head_names(folder) is None:  # heads without names, if any, are a critic's
        return linear.new_heads(model, len(names))
    return linear.heads_for(folder, model, len(names))


def first_heads(
    folder: Path, model: PreTrainedModel, chosen: Objective, outputs: int, objectives: Sequence[str]
) -> torch.nn.Linear:
    """Initial heads of an algorithm: those of the checkpoint if they are of its kind, else new ones.

    Raises `ConfigError` for heads of the same kind with other objectives.
    """
    if chosen.algorithm.data == "steps":
        return process_heads(folder, model, named(objectives, outputs))
    members, seed = int(chosen.options.get("heads", 1)), int(chosen.options.get("seed", 0))
    if head_names(folder) is not None:
        return linear.new_heads(model, outputs, members=members, seed=seed)
    if chosen.algorithm.model == "reward" and (folder / reward_scale.FILE).is_file():
        known = reward_scale.load_scale(folder).objectives
        wanted = tuple(objectives) or (reward_scale.PREFERENCE,)
        if known != wanted:
            raise ConfigError(
                f"the reward model {folder} has the objectives {', '.join(known)}, not {', '.join(wanted)}"
            )
    return linear.heads_for(folder, model, outputs, members=members, seed=seed)
