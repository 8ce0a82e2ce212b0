"""RLOO: REINFORCE with the mean of the other samples as baseline (Ahmadian et al., 2024, arXiv:2402.14740).

The whole episode is one action: its log-probability is a sum, and the KL penalty is in its return. With more
than one step on a batch, `surrogate` should be `clip`.
"""

from agentevol.learn.algorithms.advantages.baselines import rloo
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(rloo, surrogate="reinforce", aggregation="seq_mean_token_sum", kl="reward", kl_coef=0.001)
