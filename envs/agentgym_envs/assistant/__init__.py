"""Assistant: an office in a SQLite database, and tools over calendar, mail, contacts, to-dos, files and "
"more."""

from agentgym_envs.assistant.environment import Assistant, AssistantTask

__all__ = ["Assistant", "AssistantTask"]
