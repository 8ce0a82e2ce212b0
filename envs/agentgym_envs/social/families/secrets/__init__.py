"""Secrets: one seat is asked about facts, some of which it must not tell."""

from agentgym_envs.social.families.secrets.rules import Secrets

__all__ = ["Secrets"]
