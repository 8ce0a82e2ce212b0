"""Price: one seat sells, the other buys; each knows its own target and limit."""

from agentgym_envs.social.families.price.rules import Price

__all__ = ["Price"]
