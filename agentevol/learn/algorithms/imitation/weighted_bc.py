"""Weighted behaviour cloning: imitation of all episodes, of better ones with a higher weight."""

from collections.abc import Sequence
from typing import Literal

from agentevol.core.algorithms.contract import Algorithm, Floats
from agentevol.core.algorithms.options import Finite, Positive
from agentevol.learn.algorithms.episode_weights import advantage, rank, reward
from agentevol.learn.algorithms.imitation.sft import sft


def weigh(
    returns: Sequence[float],
    groups: Sequence[str],
    *,
    weighting: Literal["reward", "advantage", "rank"] = "reward",
    minimum: Finite = 0.0,
    beta: Positive = 1.0,
    max_weight: Positive = 20.0,
) -> Floats:
    """Episode weights. `reward`: the return above `minimum`, the environment's lowest. `advantage`: the
    exponential of the return above its group's mean (AWR). `rank`: the rank in the group, whatever the scale.
    """
    match weighting:
        case "reward":
            return reward(returns, minimum=minimum)
        case "advantage":
            return advantage(returns, groups, beta=beta, max_weight=max_weight)
        case "rank":
            return rank(returns, groups)


ALGORITHM = Algorithm(
    loss=sft,
    data="episodes",
    weigh=weigh,
    only_with={
        "minimum": ("weighting", "reward"),
        "beta": ("weighting", "advantage"),
        "max_weight": ("weighting", "advantage"),
    },
)
