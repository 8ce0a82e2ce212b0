"""DAPO: decoupled clip and dynamic sampling (Yu et al., 2025, arXiv:2503.14476).

The upper bound of the ratio is looser than the lower, every token of the batch counts the same, and long
episodes lose reward. Dynamic sampling is `dynamic_sampling.informative_groups`, applied by the sampler.
"""

from agentevol.learn.algorithms.advantages import grpo
from agentevol.learn.algorithms.family import family
from agentevol.learn.algorithms.reward_shaping import overlong, without_overlong

ALGORITHM = family(grpo, shapings=[overlong], corrections=[without_overlong], clip_high=0.28)
