"""Text-to-SQL: questions to databases, verdicts by results on variants of them."""

from typing import TYPE_CHECKING

from agentgym_envs.lazy_imports import lazy_names

if TYPE_CHECKING:
    from agentgym_envs.sql.environment import SQL
else:  # to list `sqlgym`, a module of this package, imports no environment
    __getattr__, __dir__ = lazy_names(__name__, {"SQL": "agentgym_envs.sql.environment:SQL"})

__all__ = ["SQL"]
