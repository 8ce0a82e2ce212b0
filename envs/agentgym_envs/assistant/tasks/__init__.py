"""Tasks: templates with a program that solves them, the gold that the program makes, and the verdict.

Names for other packages: `Draft`, `Gold`, `LEVELS`, `draft`, `judged`, `solved`.
"""

from agentgym_envs.assistant.tasks.drafts import Draft
from agentgym_envs.assistant.tasks.gold import Gold, judged
from agentgym_envs.assistant.tasks.programs import solved
from agentgym_envs.assistant.tasks.templates import LEVELS, draft

__all__ = ["LEVELS", "Draft", "Gold", "draft", "judged", "solved"]
