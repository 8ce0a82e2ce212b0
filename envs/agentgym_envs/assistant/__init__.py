"""Assistant: tools over calendar, mail, contacts, to-dos, files, orders, sheets and knowledge, in SQLite."""

from agentgym_envs.assistant.environment import Assistant, AssistantTask

__all__ = ["Assistant", "AssistantTask"]
