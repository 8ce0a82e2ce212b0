"""Clipped loss of a value function.

Value 1, old value 0, target 2, clip 0.2: max((1 - 2)^2, (0.2 - 2)^2) / 2 = 1.62.
"""

from typing import Annotated

import torch
from pydantic import Field

from agentevol.core.algorithms.contract import Batch, Loss
from agentevol.core.algorithms.options import NotNegative
from agentevol.learn.algorithms.losses.aggregation import Aggregation, aggregate


def value_loss(
    batch: Batch,
    *,
    value_clip: NotNegative = 0.2,
    aggregation: Aggregation = "token_mean",
    horizon: Annotated[int, Field(ge=1)] = 4096,
) -> Loss:
    """Half the squared error, and no less than that of the value clipped to within `value_clip` of the old
    one.

    As in Schulman et al.'s PPO code; verl and TRL have it with 0.5 and 0.2. `value_clip` is in units of the
    return.
    """
    bounded_N = batch.value.clamp(batch.old_value - value_clip, batch.old_value + value_clip)
    free_N, bound_N = (batch.value - batch.target).square(), (bounded_N - batch.target).square()
    loss = aggregate(batch, torch.maximum(free_N, bound_N), aggregation, horizon) / 2
    clipfrac = (bound_N > free_N).sum().item() / batch.totals.tokens
    return Loss(loss, {"value_loss": loss.item(), "vf_clipfrac": clipfrac})
