"""Academia: a net of papers that cite each other, and one of authors who write together."""

from agentgym_envs.families.academia.environment import Academia

__all__ = ["Academia"]
