"""Split: two seats divide items of three kinds that they value differently."""

from agentgym_envs.social.families.split.rules import Split

__all__ = ["Split"]
