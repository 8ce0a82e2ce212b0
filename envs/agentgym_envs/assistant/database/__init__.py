"""The office of an episode: a SQLite database, copied on write, and the net change of an episode.

Names for other packages: `Office`, `net_change`, `NetChange`.
"""

from agentgym_envs.assistant.database.changes import NetChange, net_change
from agentgym_envs.assistant.database.office import Office

__all__ = ["NetChange", "Office", "net_change"]
