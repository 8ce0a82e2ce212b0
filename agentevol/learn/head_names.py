"""What the heads of a process reward model are about, in their order: `process.json` beside its weights.

{"heads": ["outcome", "safety"]}
"""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from transformers import PreTrainedModel

from agentevol.errors import ConfigError
from agentevol.learn import heads, reward_scale
from agentevol.learn.algorithms.contract import Objective

FILE = "process.json"


def named(objectives: Sequence[str], outputs: int) -> tuple[str, ...]:
    """The names of so many heads; numbers where nobody named several."""
    return tuple(objectives) or (("outcome",) if outputs == 1 else tuple(map(str, range(outputs))))


def to_bytes(names: Sequence[str]) -> bytes:
    """What `process.json` holds."""
    return (json.dumps({"heads": list(names)}) + "\n").encode()


def head_names(folder: Path) -> tuple[str, ...] | None:
    """Of the process reward model in `folder`; None where there is none. `ConfigError` for a corrupt file."""
    file = folder / FILE
    if not file.is_file():
        return None
    try:
        return tuple(str(name) for name in json.loads(file.read_bytes())["heads"])
    except (ValueError, KeyError, TypeError) as cause:
        raise ConfigError(f"{file} is corrupt: {cause!r}") from cause


def check_heads(folder: Path, names: Sequence[str]) -> None:
    """Raise `ConfigError` where the process reward model in `folder` has other heads than these."""
    found = head_names(folder)
    if found is not None and found != tuple(names):
        raise ConfigError(
            f"the process reward model {folder} has the heads {', '.join(found)}, not {', '.join(names)}:"
            " name the same ones, or begin without it"
        )


def process_heads(folder: Path, model: PreTrainedModel, names: Sequence[str]) -> torch.nn.Linear:
    """Heads of these names: those of the checkpoint where it is a process reward model, or else new ones.

    Raises `ConfigError` for a process reward model with others.
    """
    check_heads(folder, names)
    if head_names(folder) is None:  # what heads it has, if any, are a critic's
        return heads.new_heads(model, len(names))
    return heads.heads_for(folder, model, len(names))


def first_heads(
    folder: Path, model: PreTrainedModel, chosen: Objective, outputs: int, objectives: Sequence[str]
) -> torch.nn.Linear:
    """What an algorithm with heads begins with: those of the checkpoint where they are of its kind.

    Raises `ConfigError` for heads of the same kind that are about something else.
    """
    if chosen.algorithm.data == "steps":
        return process_heads(folder, model, named(objectives, outputs))
    members, seed = int(chosen.options.get("heads", 1)), int(chosen.options.get("seed", 0))
    if head_names(folder) is not None:
        return heads.new_heads(model, outputs, members=members, seed=seed)
    if chosen.algorithm.model == "reward" and (folder / reward_scale.FILE).is_file():
        known = reward_scale.load_scale(folder).objectives
        wanted = tuple(objectives) or (reward_scale.PREFERENCE,)
        if known != wanted:
            raise ConfigError(
                f"the reward model {folder} has the objectives {', '.join(known)}, not {', '.join(wanted)}"
            )
    return heads.heads_for(folder, model, outputs, members=members, seed=seed)
