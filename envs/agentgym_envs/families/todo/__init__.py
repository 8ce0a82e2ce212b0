"""Todo: projects and their tasks, which questions are about, and which operations change."""

from agentgym_envs.families.todo.environment import Todo

__all__ = ["Todo"]
