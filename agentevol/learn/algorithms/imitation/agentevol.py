"""AgentEvol: weighted imitation of explored episodes, with the reward of each as its weight.

Reinforcement learning as inference: with p(success | episode) proportional to its reward, exploring samples
from the posterior over successful episodes, and learning maximises

    sum over episodes of reward * sum over actions of log p(action)

on the explored episodes together with the expert's, whose weight is 1 (Xi et al., 2024, arXiv:2406.04151).
Exploration, merging and the choice of start belong to the loop; this module has the weights.
"""

from collections.abc import Sequence
from typing import Literal

from agentevol.core.algorithms.contract import Algorithm, Floats
from agentevol.core.algorithms.options import Finite, Positive
from agentevol.learn.algorithms.episode_weights import binary, reward, softmax
from agentevol.learn.algorithms.imitation.sft import sft


def weigh(
    returns: Sequence[float],
    groups: Sequence[str],
    *,
    weighting: Literal["reward", "binary", "softmax"] = "reward",
    minimum: Finite = 0.0,
    threshold: Finite = 0.999,
    temperature: Positive = 0.5,
) -> Floats:
    """Episode weights: `reward` as in the paper; `binary` as in the released code, which keeps successes
    unweighted.
    """
    match weighting:
        case "reward":
            return reward(returns, minimum=minimum)
        case "binary":
            return binary(returns, threshold=threshold)
        case "softmax":
            return softmax(returns, groups, temperature=temperature)


ALGORITHM = Algorithm(
    loss=sft,
    data="episodes",
    weigh=weigh,
    only_with={
        "minimum": ("weighting", "reward"),
        "threshold": ("weighting", "binary"),
        "temperature": ("weighting", "softmax"),
    },
)
