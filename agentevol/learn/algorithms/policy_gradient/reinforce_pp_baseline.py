"""REINFORCE++ with the group's mean as baseline, for several samples of a task (arXiv:2501.03262)."""

from agentevol.learn.algorithms.advantages.baselines import reinforce_pp_baseline
from agentevol.learn.algorithms.policy_gradient.family import family

ALGORITHM = family(reinforce_pp_baseline, kl="reward", kl_coef=0.01)
