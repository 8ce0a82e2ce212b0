"""ALFWorld: household tasks in text, by a native engine that answers exactly as the original one does."""

from agentgym_envs.alfworld.environment import ALFWorld

__all__ = ["ALFWorld"]
