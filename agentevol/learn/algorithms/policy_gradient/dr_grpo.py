"""Dr. GRPO: GRPO without its biases by length and difficulty (Liu et al., 2025, arXiv:2503.20783).

The divisor is the constant `horizon`, not the group's deviation or the episode's own length.
"""

from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(grpo, scale_rewards="none", aggregation="seq_mean_token_sum_norm")
