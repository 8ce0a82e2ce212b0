"""Friends: two address lists have exactly one person in common, whom both seats have to select."""

from agentgym_envs.social.families.friends.rules import Friends

__all__ = ["Friends"]
