"""GSPO: the ratio of a whole sequence is clipped (Zheng et al., 2025, arXiv:2507.18071).

The ratio is a geometric mean over the episode's learnt tokens and stays close to 1, hence the narrow clip.
"""

from dataclasses import replace

from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = replace(
    family(
        grpo,
        ratio="sequence",
        clip_low=3e-4,
        clip_high=4e-4,
        dual_clip=0.0,
        aggregation="seq_mean_token_mean",
    ),
    stops_gradient=True,
)
