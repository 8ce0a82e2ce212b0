"""The office of an episode: a SQLite database, copied on write, and the net change of an episode.

Names for other packages: `NetChange`, `Office`.
"""

from agentgym_envs.assistant.database.changes import NetChange
from agentgym_envs.assistant.database.office import Office

__all__ = ["NetChange", "Office"]
