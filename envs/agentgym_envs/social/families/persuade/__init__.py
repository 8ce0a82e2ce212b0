"""Persuade: one seat has evidence, the other an opinion with weights of its own."""

from agentgym_envs.social.families.persuade.rules import Persuade

__all__ = ["Persuade"]
