"""DAPO: decoupled clip and dynamic sampling (Yu et al., 2025, arXiv:2503.14476).

The upper bound of the ratio is looser than the lower, every token of the batch counts the same, and long
episodes lose reward. Dynamic sampling is `agentevol.data.selection.filters.informative_groups`.
"""

from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.advantages.reward_shaping import overlong, without_overlong
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(grpo, shapings=[overlong], corrections=[without_overlong], clip_high=0.28)
