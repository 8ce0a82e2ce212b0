"""Help desks: what retail, airline and mock have in common: tools over tables by version, the solo mode.

Names for other packages: `DeskEnvironment`, `DeskWorld`.
"""

from agentgym_envs.tau.desk.environment import DeskEnvironment
from agentgym_envs.tau.desk.world import DeskWorld

__all__ = ["DeskEnvironment", "DeskWorld"]
