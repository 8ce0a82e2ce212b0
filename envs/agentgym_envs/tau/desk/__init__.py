"""Help desks: what retail and airline have in common, two versions of tools over tables, and the solo mode.

Names for other packages: `DeskEnvironment`, `DeskWorld`.
"""

from agentgym_envs.tau.desk.environment import DeskEnvironment
from agentgym_envs.tau.desk.world import DeskWorld

__all__ = ["DeskEnvironment", "DeskWorld"]
