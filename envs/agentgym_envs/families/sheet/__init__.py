"""Sheet: tables of cells, which tasks change."""

from agentgym_envs.families.sheet.environment import Sheet

__all__ = ["Sheet"]
