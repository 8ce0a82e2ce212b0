"""Built-in tasks of retail: an invented shop, and requests of its customers.

Names for other packages: `builtin_tasks`.
"""

from agentgym_envs.tau.retail.builtin.generator import builtin_tasks

__all__ = ["builtin_tasks"]
