"""Built-in tasks of the airline: an invented timetable, and requests of its passengers.

Names for other packages: `builtin_tasks`.
"""

from agentgym_envs.tau.airline.builtin.generator import builtin_tasks

__all__ = ["builtin_tasks"]
