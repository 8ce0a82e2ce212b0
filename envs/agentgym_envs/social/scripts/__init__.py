"""Scripted policies without skill, each with what it may earn, and the suite that plays them.

Names for other packages: `attack`, `measure`, `violations`, `Scores`.
"""

from agentgym_envs.social.scripts.suite import Scores, attack, measure, violations

__all__ = ["Scores", "attack", "measure", "violations"]
