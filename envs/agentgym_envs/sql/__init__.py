"""Text-to-SQL: questions to databases, verdicts by results on variants of them."""

from agentgym_envs.sql.environment import SQL

__all__ = ["SQL"]
