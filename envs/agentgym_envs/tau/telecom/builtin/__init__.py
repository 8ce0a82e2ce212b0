"""Built-in tasks of telecom: an invented company, and combinations of faults.

Names for other packages: `builtin_tasks`, `published_tasks`, `POLICY`.
"""

from agentgym_envs.tau.telecom.builtin.generator import builtin_tasks
from agentgym_envs.tau.telecom.builtin.policy import POLICY
from agentgym_envs.tau.telecom.builtin.published import published_tasks

__all__ = ["POLICY", "builtin_tasks", "published_tasks"]
