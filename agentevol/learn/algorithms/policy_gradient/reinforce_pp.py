"""REINFORCE++: PPO without a critic, advantages whitened over the update (Hu, 2025, arXiv:2501.03262)."""

from agentevol.learn.algorithms.advantages.baselines import reinforce_pp
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(reinforce_pp, turn_discount=1.0, kl="reward", kl_coef=0.01)
