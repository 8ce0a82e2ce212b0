"""Mean of the weights of several checkpoints that were trained from one start (model soups,
arXiv:2203.05482).
"""

from collections.abc import Sequence
from pathlib import Path

import torch

from agentevol.core.errors import ConfigError
from agentevol.learn.network.attention import PACKED_ATTENTION
from agentevol.models.causal_lm import load_model, shapes
from agentevol.models.checkpoints import Lineage, save


def write_mean(members: Sequence[Path], out: Path, version: int, dtype: torch.dtype) -> None:
    """Write the new checkpoint `out` with the mean of the members' weights, and the tokenizer of the first;
    heads and moments are left out: they begin anew. One model and the sum are in memory at a time.

    Raises `ConfigError` for checkpoints of different shapes.
    """
    mean = load_model(members[0], PACKED_ATTENTION)
    torch.nn.Module.to(mean, dtype=torch.float32)
    own = dict(mean.named_parameters())
    with torch.no_grad():
        for path in members[1:]:
            other = load_model(path, PACKED_ATTENTION)
            if shapes(other) != shapes(mean):
                raise ConfigError(f"{path} has other shapes than {members[0]}: their mean is no model")
            for name, parameter in other.named_parameters():
                own[name].add_(parameter.to(torch.float32))
        for parameter in own.values():
            parameter.div_(len(members))
    torch.nn.Module.to(mean, dtype=dtype)
    lineage = Lineage(version=version, parent=members[0].name, metrics={"merged": float(len(members))})
    save(mean, members[0], out, lineage)
