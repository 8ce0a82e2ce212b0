"""CISPO: the clipped ratio is a weight, so that every token keeps its gradient (arXiv:2506.13585, eq. 4).

The paper bounds the weight from above only: with `clip_low` 1 it may fall to 0, so that a token which has
become unlikely has the weight of its ratio. It gives no value for the upper bound; `clip_high` 0.28 is DAPO's
(arXiv:2503.14476), and ScaleRL (arXiv:2510.13786) takes 4.
"""

from dataclasses import replace

from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = replace(
    family(grpo, surrogate="cispo", clip_low=1.0, clip_high=0.28),
    stops_gradient=True,
)
