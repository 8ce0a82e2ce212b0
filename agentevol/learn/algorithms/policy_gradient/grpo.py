"""GRPO: group relative policy optimisation (Shao et al., 2024, arXiv:2402.03300).

The KL coefficient is that of recipes for agents; the paper's is 0.04.
"""

from agentevol.learn.algorithms.advantages.baselines import grpo
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(grpo, aggregation="seq_mean_token_mean", kl_coef=0.001)
