"""Schedule: two calendars, and a slot that is free in both, if there is one."""

from agentgym_envs.social.families.schedule.rules import Schedule

__all__ = ["Schedule"]
